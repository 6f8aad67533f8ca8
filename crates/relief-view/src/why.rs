//! Why a sample is what it is, for the page: the nodes that it is made of.

use std::sync::{Arc, PoisonError};

use relief_design::NodeId;
use relief_engine::{Exactness, Explanation, Options, Rect, explain};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::fault::Fault;
use crate::page::JSON;
use crate::queue;
use crate::renderers::prefix;
use crate::request::Query;
use crate::routes::{App, Caching, Reply, node_of};

/// The most memory of the job that explains a sample; it counts as that of an answer.
const MEMORY: u64 = 64 << 20;

/// The nodes of a pixel of a node, `x=` and `y=`: columns and rows from 0, or lengths.
pub(crate) async fn reply(app: &Arc<App>, query: &Query<'_>) -> Result<Reply, Fault> {
    let scene = app.scene(query.get("design").unwrap_or("0"))?;
    let node = node_of(&scene, query.get("node").unwrap_or("root"))?;
    let [x, y] = ["x", "y"].map(|name| query.get(name));
    let (Some(x), Some(y)) = (x, y) else {
        return Err(Fault::request(
            "x= and y= say which pixel: its column and row from 0, or lengths such as 12.5mm",
        ));
    };
    let pixel =
        relief_design::rectangle([x, y, "1", "1"], scene.design.canvas().pixel).map_err(|problem| {
            let shown =
                |text: &str| relief_design::visible(&text.chars().take(40).collect::<String>()).into_owned();
            Fault::request(format!("x={}, y={}: {problem}", shown(x), shown(y)))
        })?;
    let (width, height) = (scene.design.node(node).width, scene.design.node(node).height);
    let (x, y) = (pixel.x(), pixel.y());
    if !Rect::sized(width, height).contains(&pixel) {
        return Err(Fault::request(format!(
            "the pixel {x},{y} does not lie in the {width}×{height} of the node"
        )));
    }
    let place = (x, y);
    let bytes = MEMORY.min(app.queue.largest());
    let stamp = {
        let mut viewports = app.viewports.lock().unwrap_or_else(PoisonError::into_inner);
        viewports.stamp(query.get("view"))
    };
    let key = format!("{}why/{x},{y}", prefix(&scene.key, node));
    let work = move |cancel: &relief_engine::Cancel, reservation| {
        let options = Options::default().memory(bytes).threads(1);
        let story = explain(&scene.design_of(node), &*scene.images, &options, place, cancel)
            .map_err(|error| Fault::engine(&error))?;
        let text = as_json(&story, node).to_string();
        // What computed it is gone.
        drop(reservation);
        Ok(Answer {
            bytes: text.into(),
            media: JSON,
            exactness: Exactness::Exact,
            samples: None,
        })
    };
    let request = queue::Request {
        key,
        stamp,
        slow: true,
        bytes,
        work: Box::new(work),
    };
    let answer = app.queue.submit(request).answer().await?;
    Ok(Reply {
        answer,
        caching: Caching::Never,
    })
}

fn as_json(story: &Explanation, node: NodeId) -> Value {
    let rect =
        |rect: Rect| json!({ "x": rect.x(), "y": rect.y(), "width": rect.width(), "height": rect.height() });
    let nodes: Vec<Value> = story
        .nodes
        .iter()
        .map(|node| {
            json!({
                "kind": node.kind,
                "role": node.role.map(relief_design::tree::Role::name),
                "parent": node.parent,
                "line": node.place.line,
                "column": node.place.column,
                "x": node.x,
                "y": node.y,
                "inside": node.inside,
                "value": node.value,
                "folded": node.folded.map(|(before, after)| json!({ "before": before, "after": after })),
                "reads": node.window.map(rect),
                "replaced": node.replaced,
            })
        })
        .collect();
    json!({
        "node": node.0, "x": story.x, "y": story.y, "value": story.value,
        "decides": story.decides, "cut": story.cut, "nodes": nodes,
    })
}
