"""The scorecard: a bundle's examples, applied to the local control plane and reconciled by the operator."""
