"""Where the control plane's programs come from: directories, downloads, go build."""
