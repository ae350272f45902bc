"""Who may do what over REST: users, roles, limits, and the log of changes. docs/security.md."""
