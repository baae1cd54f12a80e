"""The version of this package, in one place that nothing else needs to be imported for."""

VERSION = "0.1.0"
