"""Reading what the user wrote: watches.yaml, flags and environment, with every mistake named."""
