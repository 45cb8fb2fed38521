//! Seeds of the format that this project reads and does not write: pickles of Python 2.

use crate::SCISSORS;

/// A graph of three nodes in the text of protocol 0: the first is trained on, the second validates,
/// the third is tested.
pub(crate) fn protocol_0() -> Vec<u8> {
    let (one, two) = ([1f32.to_le_bytes()].concat(), [1f32, 1.0].map(f32::to_le_bytes).concat());
    let files = [
        csr(&[0, 1], &[1], &one),
        array("I1\nI2\n", "i4", &integers(&[1, 0])) + ".",
        csr(&[0, 1], &[0], &one),
        array("I1\nI2\n", "i4", &integers(&[0, 1])) + ".",
        csr(&[0, 1, 2], &[1, 0], &two),
        array("I2\nI2\n", "i4", &integers(&[1, 0, 0, 1])) + ".",
        "(dp0\nI0\n(lp1\nI1\naI2\nasI1\n(lp2\nI0\nas.".to_owned(),
        "2\n".to_owned(),
    ];
    files.map(String::into_bytes).join(SCISSORS)
}

/// No node, and 2^62 classes: the size of an empty array does not bound its other dimensions.
pub(crate) fn wide() -> Vec<u8> {
    let features = csr_of(0, &[0], &[], &[]);
    let classes = array("I0\nL4611686018427387904L\n", "i4", &[]) + ".";
    let files = [&features, &classes, &features, &classes, &features, &classes, "(d.", ""];
    files.map(str::as_bytes).join(SCISSORS)
}

fn csr(offsets: &[i32], indices: &[i32], values: &[u8]) -> String {
    csr_of(offsets.len() - 1, offsets, indices, values)
}

fn csr_of(rows: usize, offsets: &[i32], indices: &[i32], values: &[u8]) -> String {
    format!(
        "ccopy_reg\n_reconstructor\n(cscipy.sparse.csr\ncsr_matrix\nc__builtin__\nobject\nNtR(dS'_shape'\n(I{rows}\nI2\nts\
         S'indptr'\n{}sS'indices'\n{}sS'data'\n{}sb.",
        list("i4", &integers(offsets)),
        list("i4", &integers(indices)),
        list("f4", values)
    )
}

/// The instructions that make an array of one dimension, of four bytes per value.
fn list(dtype: &str, data: &[u8]) -> String {
    array(&format!("I{}\n", data.len() / 4), dtype, data)
}

/// The instructions that make an array; `shape` are those that push its dimensions.
fn array(shape: &str, dtype: &str, data: &[u8]) -> String {
    let data: String = data.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    format!(
        "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n({shape}tcnumpy\ndtype\n\
         (S'{dtype}'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntbI00\nS'{data}'\ntb"
    )
}

fn integers(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::graphs::planetoid;

    #[test]
    fn the_text_protocol_is_taken_and_empty_width_is_refused() {
        let _alone = crate::alone();
        assert_eq!(planetoid(&protocol_0()), "ok");
        assert!(planetoid(&wide()).contains("an empty array of shape"), "{}", planetoid(&wide()));
    }
}
