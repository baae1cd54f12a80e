"""Finding a project's mistakes before any cluster sees them: reads files, starts nothing, asks nobody."""
