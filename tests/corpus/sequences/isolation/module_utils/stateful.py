USES = []
