//! Features that depend on the class.

use super::Progress;
use super::spec::FeatureSpec;
use crate::{Features, Result, SparseRows, Stream};

/// Nodes drawn from one stream. Part of the format of a seed: another size gives other graphs.
const CHUNK: usize = 1 << 12;

/// The parameters of the features of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Topic {
    /// Its class; without one there is only noise.
    pub(super) class: Option<u32>,
    /// The class of the words it borrows.
    pub(super) second: u32,
    /// The share δ of borrowed words.
    pub(super) drift: f64,
}

/// The topics of the nodes 0..n.
pub(super) struct Topics<'a> {
    /// Number of nodes n.
    pub(super) nodes: usize,
    /// Number of classes C.
    pub(super) classes: usize,
    /// Returns the topic of a node.
    pub(super) of_node: &'a dyn Fn(usize) -> Topic,
}

/// One row per node, drawn as [`FeatureSpec`] describes.
pub(super) fn draw(
    spec: &FeatureSpec,
    topics: &Topics,
    seed: u64,
    progress: Progress,
) -> Result<Features> {
    match *spec {
        FeatureSpec::Sparse { columns, per_node, signal } => {
            Words::new(columns, topics.classes, signal, seed).draw(per_node, topics, seed, progress)
        }
        FeatureSpec::Dense { columns, signal } => dense(columns, signal, topics, seed, progress),
    }
}

fn chunk_stream(seed: u64, chunk: usize) -> Stream {
    Stream::new(seed, "generator/features", &[chunk as u64])
}

/// x_v = signal · ((1 − δ) μ_c + δ μ_s) + ε; without a label x_v = ε.
fn dense(
    columns: usize,
    signal: f64,
    topics: &Topics,
    seed: u64,
    progress: Progress,
) -> Result<Features> {
    let n = topics.nodes;
    let mut stream = Stream::new(seed, "generator/centres", &[]);
    let centres: Vec<f64> =
        (0..topics.classes * columns).map(|_| signal * stream.normal()).collect();
    let mut values = Vec::with_capacity(n * columns);
    for (chunk, start) in (0..n).step_by(CHUNK).enumerate() {
        progress("features", start as f64 / n as f64);
        let mut noise = Normals::new(chunk_stream(seed, chunk));
        for v in start..n.min(start + CHUNK) {
            let Topic { class, second, drift } = (topics.of_node)(v);
            match class {
                Some(class) => {
                    let own = &centres[class as usize * columns..][..columns];
                    let second = &centres[second as usize * columns..][..columns];
                    values.extend(
                        own.iter()
                            .zip(second)
                            .map(|(c, s)| ((1.0 - drift) * c + drift * s + noise.next()) as f32),
                    );
                }
                None => values.extend((0..columns).map(|_| noise.next() as f32)),
            }
        }
    }
    progress("features", 1.0);
    Features::dense(n, columns, values)
}

/// Standard normal numbers, both of each Box–Muller pair: half the work of [`Stream::normal`].
struct Normals {
    stream: Stream,
    spare: Option<f64>,
}

impl Normals {
    fn new(stream: Stream) -> Self {
        Self { stream, spare: None }
    }

    fn next(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.stream.unit()));
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * self.stream.unit());
        self.spare = Some(radius * sin);
        radius * cos
    }
}

/// The vocabulary: the words that each class prefers, and the frequencies of all words.
struct Words {
    columns: usize,
    signal: f64,
    /// Per class, the words it prefers.
    preferred: Vec<Vec<u32>>,
    /// Words by rank, and their cumulative frequencies Σ 1/r.
    by_rank: Vec<u32>,
    cumulative: Vec<f64>,
}

impl Words {
    fn new(columns: usize, classes: usize, signal: f64, seed: u64) -> Self {
        let mut preferred = Vec::with_capacity(classes);
        for class in 0..classes {
            let mut words = shuffled_words(columns, seed, &[class as u64]);
            words.truncate((columns / classes).max(1));
            preferred.push(words);
        }
        let by_rank = shuffled_words(columns, seed, &[]);
        let mut sum = 0.0;
        let mut cumulative = Vec::with_capacity(columns);
        for rank in 0..columns {
            sum += 1.0 / (rank + 1) as f64;
            cumulative.push(sum);
        }
        Self { columns, signal, preferred, by_rank, cumulative }
    }

    fn draw(
        &self,
        per_node: usize,
        topics: &Topics,
        seed: u64,
        progress: Progress,
    ) -> Result<Features> {
        let n = topics.nodes;
        let (mut offsets, mut indices) = (vec![0], Vec::new());
        let mut row: Vec<u32> = Vec::new();
        for (chunk, start) in (0..n).step_by(CHUNK).enumerate() {
            progress("features", start as f64 / n as f64);
            let mut stream = chunk_stream(seed, chunk);
            for v in start..n.min(start + CHUNK) {
                // Uniform around the mean `per_node`.
                let length = per_node - per_node / 2 + stream.below(2 * (per_node / 2) + 1);
                let topic = (topics.of_node)(v);
                row.clear();
                // A class may have fewer words than the row needs: the bound ends the loop then.
                for _ in 0..64 * length {
                    if row.len() == length {
                        break;
                    }
                    let word = self.word(topic, &mut stream);
                    if !row.contains(&word) {
                        row.push(word);
                    }
                }
                row.sort_unstable();
                indices.extend_from_slice(&row);
                offsets.push(indices.len());
            }
        }
        progress("features", 1.0);
        let values = vec![1.0; indices.len()];
        Ok(Features::Sparse(SparseRows::new(self.columns, &offsets, &indices, &values)?))
    }

    /// Draws one word of a node.
    fn word(&self, topic: Topic, stream: &mut Stream) -> u32 {
        let about_class = stream.unit() < self.signal;
        match topic.class {
            Some(class) if about_class => {
                let class = if stream.unit() < topic.drift { topic.second } else { class };
                let words = &self.preferred[class as usize];
                words[stream.below(words.len())]
            }
            // A word of no class, by Zipf's law: invert the cumulative frequencies.
            _ => {
                let x = stream.unit() * self.cumulative[self.columns - 1];
                self.by_rank[self.cumulative.partition_point(|&sum| sum <= x).min(self.columns - 1)]
            }
        }
    }
}

/// All words in an order drawn from the stream of this path.
fn shuffled_words(columns: usize, seed: u64, path: &[u64]) -> Vec<u32> {
    let mut words: Vec<u32> = (0..columns as u32).collect();
    Stream::new(seed, "generator/words", path).shuffle(&mut words);
    words
}
