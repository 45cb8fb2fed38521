//! The metrics by name.

use super::{
    Accuracy, ErrorRate, FalseNegativeRate, FalsePositiveRate, GeneralisedEntropy, MacroF1, Metric,
    Parameter, Precision, Recall, SelectionRate,
};
use crate::{Error, FrameMetric, Result};
use std::sync::{Arc, LazyLock};

/// The metrics of this crate, which most functions use.
pub(crate) static BUILTIN: LazyLock<MetricRegistry> = LazyLock::new(MetricRegistry::builtin);

/// Metrics by name: those of this crate, and those that a program adds.
///
/// ```
/// use boostfgl_fairness::metrics::MetricRegistry;
///
/// let metric = MetricRegistry::builtin().parse("recall:theory")?;
/// assert_eq!(metric.to_string(), "recall:theory");
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone)]
pub struct MetricRegistry {
    metrics: Vec<Arc<dyn Metric>>,
}

impl MetricRegistry {
    /// The metrics of this crate, in the order in which they are shown. A new one is one line here.
    pub fn builtin() -> Self {
        Self {
            metrics: vec![
                Arc::new(Accuracy),
                Arc::new(ErrorRate),
                Arc::new(MacroF1::EXACT),
                Arc::new(Recall),
                Arc::new(Precision),
                Arc::new(SelectionRate),
                Arc::new(FalsePositiveRate),
                Arc::new(FalseNegativeRate),
                Arc::new(GeneralisedEntropy),
            ],
        }
    }

    /// The same with one more metric; it replaces one that has its name.
    #[must_use]
    pub fn with(mut self, metric: impl Metric + 'static) -> Self {
        self.metrics.retain(|known| known.name() != metric.name());
        self.metrics.push(Arc::new(metric));
        self
    }

    /// The metrics, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Metric>> {
        self.metrics.iter()
    }

    /// The metric of that name.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Metric>> {
        self.iter().find(|metric| metric.name() == name)
    }

    /// How metrics are written, and what each means: `macro_f1`, `macro_f1:all`, `recall:CLASS`.
    pub fn forms(&self) -> Vec<(String, String)> {
        let mut forms = Vec::new();
        for metric in self.iter() {
            let (name, meaning) = (metric.name(), metric.meaning());
            match metric.parameter() {
                Parameter::None => forms.push((name.to_owned(), meaning.to_owned())),
                Parameter::Average => {
                    let over = format!("{meaning}; over the classes present in the group");
                    forms.push((name.to_owned(), over));
                    forms.push((format!("{name}:all"), "the same over all classes".to_owned()));
                }
                Parameter::Class => forms.push((format!("{name}:CLASS"), meaning.to_owned())),
            }
        }
        forms
    }

    /// The metric that a text names, with its parameter; `macro_f1:present` is `macro_f1`.
    ///
    /// # Errors
    /// If there is none; the nearest name is suggested. Whether a class exists is only known when
    /// it is measured.
    pub fn parse(&self, text: &str) -> Result<FrameMetric> {
        let text = text.trim();
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let known = self.find(name).and_then(|metric| {
            let parameter = match (metric.parameter(), parameter) {
                (Parameter::None, None) | (Parameter::Average, None | Some("present")) => None,
                (Parameter::Average, Some("all")) => Some("all".to_owned()),
                (Parameter::Class, Some(class)) => Some(class.to_owned()),
                _ => return None,
            };
            Some(FrameMetric::new(metric.clone(), parameter))
        });
        known.ok_or_else(|| {
            let forms = self.forms().into_iter().map(|(form, _)| form).collect();
            Error::unknown("metric", text, forms)
        })
    }
}

impl Default for MetricRegistry {
    fn default() -> Self {
        Self::builtin()
    }
}
