"""The typed calls of `api.Client`, by what they are about; what all their replies share is said in `api`."""
