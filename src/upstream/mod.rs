//! Upstream MCP servers: the built-in ones.

pub mod builtin;
