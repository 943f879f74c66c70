"""Who calls: tokens, invitations, issuers, and the roles that follow."""
