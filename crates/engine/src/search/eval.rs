//! Quality metrics of a ranking, over questions with known answers.

/// Metrics over a set of judged questions, each between 0 and 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// Fraction of questions whose first result is right.
    pub hit_1: f64,
    /// Fraction of the right results among the first 5.
    pub recall_5: f64,
    /// Fraction of the right results among the first 10.
    pub recall_10: f64,
    /// Mean reciprocal rank of the first right result.
    pub mrr: f64,
    pub questions: usize,
}

/// Ranking with the right results.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    pub ranking: &'a [usize],
    pub right: &'a [usize],
}

impl Figures {
    #[must_use]
    pub fn of<'a>(judged: impl IntoIterator<Item = Judged<'a>>) -> Self {
        let mut sum = Self::default();
        for Judged { ranking, right } in judged {
            let among = |first: usize| {
                let found = ranking.iter().take(first).filter(|at| right.contains(at)).count();
                found as f64 / right.len().clamp(1, first) as f64
            };
            sum.questions += 1;
            sum.hit_1 += among(1).min(1.0);
            sum.recall_5 += among(5);
            sum.recall_10 += among(10);
            let rank = ranking.iter().position(|at| right.contains(at));
            sum.mrr += rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        }
        let of = sum.questions.max(1) as f64;
        Self {
            hit_1: sum.hit_1 / of,
            recall_5: sum.recall_5 / of,
            recall_10: sum.recall_10 / of,
            mrr: sum.mrr / of,
            questions: sum.questions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_what_their_names_say() {
        let figures = Figures::of([
            Judged { ranking: &[3, 1, 2], right: &[3] },
            Judged { ranking: &[9, 8, 7, 6], right: &[7, 1] },
            Judged { ranking: &[], right: &[1] },
        ]);
        assert!((figures.hit_1 - 1.0 / 3.0).abs() < 1e-9);
        assert!((figures.recall_5 - 0.5).abs() < 1e-9);
        assert!((figures.mrr - (1.0 + 1.0 / 3.0) / 3.0).abs() < 1e-9);
    }
}
