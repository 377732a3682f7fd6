//! Plots the cost by number of queues, and a full server that drains.

use std::error::Error;
use std::fs;
use std::path::Path;

use plotters::prelude::*;
use wurk_testkit::Binary;

use crate::engine::Engine;
use crate::{memory, tables};

const SIZE: (u32, u32) = (760, 440);
const SHOWN: [Engine; 5] = [
    Engine::Exists,
    Engine::Wurk,
    Engine::Evalsha,
    Engine::Fcall,
    Engine::Plain,
];

/// Plots the cost by number of queues, on logarithmic axes.
pub(crate) fn cost(folder: &Path, binary: &Binary, curves: &[tables::Curve]) {
    let lines: Vec<_> = curves
        .iter()
        .filter(|(engine, _)| SHOWN.contains(engine))
        .map(|(engine, points)| {
            (
                engine.name(),
                points
                    .iter()
                    .map(|(queues, cost)| (*queues as f64, *cost))
                    .collect(),
            )
        })
        .collect();
    let file = folder.join(format!("cost-{}.svg", binary.name));
    let title = format!(
        "{}: microseconds of the server's time per claim",
        binary.name
    );
    report(draw(&file, &title, ["queues", "us"], &lines, true));
}

/// Plots the memory of a full server while a worker tries to drain it.
pub(crate) fn memory(folder: &Path, curves: &[memory::Curve]) {
    let lines: Vec<_> = curves
        .iter()
        .map(|(name, points)| (*name, points.clone()))
        .collect();
    let file = folder.join("memory.svg");
    report(draw(
        &file,
        "a full server: MiB in use while a worker tries to drain it",
        ["seconds", "MiB"],
        &lines,
        false,
    ));
}

type Line = (&'static str, Vec<(f64, f64)>);

fn draw(
    file: &Path,
    title: &str,
    axes: [&str; 2],
    lines: &[Line],
    logarithmic: bool,
) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let most = |pick: fn(&(f64, f64)) -> f64| {
        lines
            .iter()
            .flat_map(|(_, points)| points.iter().map(pick))
            .fold(1.0, f64::max)
    };
    let (right, top) = (most(|point| point.0), most(|point| point.1) * 1.1);
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let corner = if logarithmic {
        SeriesLabelPosition::UpperLeft
    } else {
        SeriesLabelPosition::LowerLeft
    };
    let mut builder = ChartBuilder::on(&area);
    builder
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(48);
    macro_rules! chart {
        ($chart:expr) => {{
            let mut chart = $chart;
            chart
                .configure_mesh()
                .x_desc(axes[0])
                .y_desc(axes[1])
                .light_line_style(WHITE)
                .draw()?;
            for (number, (name, points)) in lines.iter().enumerate() {
                let colour = Palette99::pick(number).stroke_width(2);
                chart
                    .draw_series(LineSeries::new(points.iter().copied(), colour))?
                    .label(*name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
            }
            chart
                .configure_series_labels()
                .background_style(WHITE.mix(0.8))
                .border_style(BLACK.mix(0.3))
                .position(corner)
                .draw()?;
        }};
    }
    if logarithmic {
        chart!(builder.build_cartesian_2d((1.0..right).log_scale(), (1.0..top).log_scale())?);
    } else {
        chart!(builder.build_cartesian_2d(0.0..right, 0.0..top)?);
    }
    area.present()?;
    println!("{}", file.display());
    Ok(())
}

fn report(drawn: Result<(), Box<dyn Error>>) {
    if let Err(error) = drawn {
        eprintln!("no plot: {error}");
    }
}
