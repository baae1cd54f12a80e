module ansible-operator-runner/pause

go 1.26.0
