//! The tool contract.
