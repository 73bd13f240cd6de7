"""Commands about git's index: one writer's patch, checks and trailers for a commit, and review."""
