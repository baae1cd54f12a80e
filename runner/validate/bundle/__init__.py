"""The mistakes of a bundle for OLM, by rules that name the field."""
