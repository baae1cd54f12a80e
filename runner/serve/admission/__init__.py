"""Reviews custom resources before they are stored, and converts them between versions."""
