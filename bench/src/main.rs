//! What a claim costs, side by side with all that it could be done by.

mod contender;
mod cost;

use contender::Contender;
use cost::{Bench, Scene, median};
use wurk_testkit::{Binary, Options};

fn main() {
    let which = std::env::args().nth(1).unwrap_or_default();
    for binary in Binary::all()
        .iter()
        .filter(|binary| binary.loads_modules() && binary.name.contains(&which))
    {
        let mut bench = Bench::start(&Options::new(binary).module());
        for queues in [1, 10, 100] {
            print!("{} {queues:4}:", binary.name);
            let scene = Scene::claim(queues, 0, 200);
            let mut all = vec![Vec::new(); Contender::CLAIMS.len()];
            for _ in 0..7 {
                for (at, contender) in Contender::CLAIMS.iter().enumerate() {
                    all[at].push(bench.round(&scene, *contender, 8000 / (1 + queues / 10)));
                }
            }
            for (at, contender) in Contender::CLAIMS.iter().enumerate() {
                print!(" {} {:.2}", contender.name(), median(&mut all[at]));
            }
            println!();
        }
    }
}
