//! Numbers as people read them.

const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// `10⁻³` for −3.
#[must_use]
pub fn power_of_ten(exponent: i32) -> String {
    format!("10{}", raised(exponent))
}

fn raised(number: i32) -> String {
    let digits = number.unsigned_abs().to_string();
    let digits = digits.bytes().map(|d| SUPERSCRIPTS[usize::from(d - b'0')]);
    (number < 0).then_some('⁻').into_iter().chain(digits).collect()
}

/// `1 row`, `2 rows`, with thousands set apart.
#[must_use]
pub fn counted(count: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// `1234567` as `1,234,567`.
#[must_use]
pub fn thousands(number: usize) -> String {
    grouped(number as u64)
}

/// A number with three digits that count: `0.0793`, `12.4`, `2,440`, `4.36·10⁻⁶`.
#[must_use]
pub fn figure(number: f64) -> String {
    let size = number.abs();
    if number.is_nan() {
        return "–".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    let text = match size {
        0.0 => "0".to_owned(),
        s if s == s.round() && s < 1000.0 => format!("{s:.0}"),
        // What rounds up to the next form already belongs to it.
        s if !(0.0009995..999_950.0).contains(&s) => return scientific(number),
        s if s < 0.09995 => format!("{size:.4}"),
        s if s < 9.995 => format!("{size:.3}"),
        s if s < 99.95 => format!("{size:.1}"),
        s if s < 999.5 => format!("{size:.0}"),
        _ => grouped(size.round() as u64),
    };
    format!("{}{text}", minus(number))
}

/// A probability: the same, with everything that is not zero shown as such.
#[must_use]
pub fn chance(probability: f64) -> String {
    match probability {
        p if p > 0.0 && p < 0.01 => scientific_from(p, 0.0009995),
        p => figure(p),
    }
}

/// A share in percent.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        p if p < 0.0995 => format!("{} %", figure(percent)),
        p if p < 99.95 => format!("{}{:.1} %", minus(percent), p),
        p => format!("{}{:.0} %", minus(percent), p),
    }
}

/// A mean with its error, both to the error's second digit: `8.79 ± 0.16`, `(2.1 ± 1.3)·10⁻⁴`.
#[must_use]
pub fn estimate(mean: f64, error: f64) -> String {
    if !(mean.is_finite() && error.is_finite() && error > 0.0) {
        return figure(mean);
    }
    // The place of the error's first digit once it is rounded to two.
    let text = format!("{error:.1e}");
    let least: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let decimals = |digits: i32| usize::try_from(digits).unwrap_or(0);
    if least >= -4 {
        let decimals = decimals(1 - least);
        return format!("{}{:.decimals$} ± {error:.decimals$}", minus(mean), mean.abs());
    }
    let power = mean.abs().max(error).log10().floor() as i32;
    let (unit, decimals) = (10f64.powi(power), decimals(power - least + 1));
    let (sign, size) = (minus(mean), mean.abs() / unit);
    format!("({sign}{size:.decimals$} ± {:.decimals$})·10{}", error / unit, raised(power))
}

fn minus(number: f64) -> &'static str {
    if number < 0.0 { "−" } else { "" }
}

fn scientific_from(number: f64, below: f64) -> String {
    if number < below { scientific(number) } else { format!("{number:.4}") }
}

fn scientific(number: f64) -> String {
    let text = format!("{number:.2e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent = exponent.parse().unwrap_or(0);
    format!("{}·10{}", digits.replace('-', "−"), raised(exponent))
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        let shown = [
            (0.0, "0"),
            (4.3579e-6, "4.36·10⁻⁶"),
            (0.0075241, "0.0075"),
            (0.079301, "0.0793"),
            (0.33112, "0.331"),
            (9.888, "9.888"),
            (-2.733, "−2.733"),
            (23.4066, "23.4"),
            (381.4, "381"),
            (999.7, "1,000"),
            (12_345.6, "12,346"),
            (2.5e7, "2.50·10⁷"),
            (f64::INFINITY, "∞"),
        ];
        for (number, text) in shown {
            assert_eq!(figure(number), text);
        }
        assert_eq!(chance(1.6694e-4), "1.67·10⁻⁴");
        assert_eq!(percent(0.8889), "88.9 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(2.7e-7), "2.70·10⁻⁵ %");
    }

    #[test]
    fn a_mean_has_the_digits_of_its_error() {
        assert_eq!(estimate(8.7934, 0.1642), "8.79 ± 0.16");
        assert_eq!(estimate(99.8, 0.0116), "99.800 ± 0.012");
        assert_eq!(estimate(0.2, 0.0228), "0.200 ± 0.023");
        assert_eq!(estimate(0.000214, 0.000126), "0.00021 ± 0.00013");
        assert_eq!(estimate(2.14e-5, 1.26e-5), "(2.1 ± 1.3)·10⁻⁵");
        assert_eq!(estimate(-1234.5, 67.0), "−1234 ± 67");
        assert_eq!(estimate(0.5, 0.0996), "0.50 ± 0.10");
        assert_eq!(estimate(0.5, 0.0), "0.500");
    }

    #[test]
    fn exponents_are_raised() {
        assert_eq!(power_of_ten(-12), "10⁻¹²");
        assert_eq!(power_of_ten(0), "10⁰");
    }
}
