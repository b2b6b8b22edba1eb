//! Clients written with other people's SDKs confirm a destructive call, in both eras (R4.5).
