"""Makes files of a project from what the project says elsewhere."""
