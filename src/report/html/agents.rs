//! What is known of the agents themselves.

use super::super::agents::{Column, columns};
use super::super::svg::escaped;
use super::super::{AgentView, View};
use super::foreign;

pub(super) fn section(view: &View<'_>) -> String {
    if !view.agents.iter().any(AgentView::is_known) {
        return String::new();
    }
    let columns = columns(&view.agents);
    let class = |column: &Column| if column.number { " class=\"n\"" } else { "" };
    let head: String = columns
        .iter()
        .map(|one| format!("<th scope=\"col\"{}>{}</th>", class(one), escaped(one.title)))
        .collect();
    let mut rows = String::new();
    for (row, agent) in view.agents.iter().enumerate() {
        rows.push_str(&format!("<tr><th scope=\"row\">{}</th>", foreign(agent.agent)));
        for column in &columns {
            let cell = column.cells.get(row).map_or("", String::as_str);
            rows.push_str(&format!("<td{}>{}</td>", class(column), foreign(cell)));
        }
        rows.push_str("</tr>\n");
    }
    format!(
        "<section id=\"agents\">\n<h2>Agents</h2>\n<div class=\"wide\"><table class=\"data\">\n<caption>As the agents and \
         their MCP clients tell it; none of it enters a rate</caption>\n<thead><tr><th scope=\"col\">agent</th>{head}</tr>\
         </thead>\n<tbody>\n{rows}</tbody></table></div>\n</section>\n"
    )
}
