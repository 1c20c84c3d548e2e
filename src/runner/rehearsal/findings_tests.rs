//! What runs show, each against one mistake of a profile.

use super::*;
use crate::domain::{CallId, ConnectionId, RawJson, RunId, ToolClass};
use crate::harness::message::{Object, ToolCall};
