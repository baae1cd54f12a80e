"""The control plane: certificates, components, processes, and starting and ending them together."""
