"""Running Ansible: from a frozen Run to an Outcome. The only room that knows ansible-runner."""
