//! Small files for the tests of the readers.

use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

use boostfgl_graph::{Adjacency, Features, Graph, GroupColumn, Labels, Role, SparseRows, Split};
use proptest::prelude::*;
use zip::{ZipWriter, write::SimpleFileOptions};

/// A folder that is removed after the test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn write_gz(&self, name: &str, text: &str) {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        self.write(name, &encoder.finish().unwrap());
    }
}

/// A zip of arbitrary bytes, for arrays that no writer would write.
pub(crate) fn raw_npz(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A npy with any header.
pub(crate) fn npy_bytes(descr: &str, shape: &str, fortran: bool, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// Cuts the file at every byte, and flips one bit and then all bits of every byte, one after the
/// other. No reader may panic, and a file that is cut short may not pass for whole.
pub(crate) fn survives_damage(path: &Path, reads: impl Fn(&Path) -> bool) {
    let whole = std::fs::read(path).unwrap();
    assert!(reads(path), "the undamaged file is read");
    for length in 0..whole.len() {
        std::fs::write(path, &whole[..length]).unwrap();
        assert!(!reads(path), "cut to {length} of {} bytes", whole.len());
    }
    let mut damaged = whole.clone();
    for at in 0..whole.len() {
        for flip in [1 << (at % 8), 0xff] {
            damaged[at] ^= flip;
            std::fs::write(path, &damaged).unwrap();
            // Some bits carry no meaning (dates, padding), so success is allowed.
            reads(path);
            damaged[at] ^= flip;
        }
    }
    std::fs::write(path, &whole).unwrap();
}

/// Graphs of every kind: sparse or dense, weighted or not, directed or not, with and without split
/// and names.
pub(crate) fn graph() -> impl Strategy<Value = Graph> {
    (1usize..8, 1usize..4, any::<[bool; 5]>()).prop_flat_map(
        |(nodes, columns, [sparse, weighted, directed, split, named])| {
            let edges =
                prop::collection::vec((0..nodes as u32, 0..nodes as u32, 0.001f32..1e6), 0..20);
            let values =
                prop::collection::vec(prop_oneof![Just(0f32), -1e30f32..1e30], nodes * columns);
            let labels = prop::collection::vec(prop::option::of(0u32..3), nodes);
            let roles = prop::collection::vec(0usize..4, nodes);
            let ids = prop::collection::vec(".{0,5}", nodes);
            (edges, values, labels, roles, ids, ".{1,8}").prop_map(
                move |(edges, values, labels, roles, ids, name)| {
                    let pairs: Vec<_> = edges.iter().map(|e| (e.0, e.1)).collect();
                    let weights: Vec<_> = edges.iter().map(|e| e.2).collect();
                    let weights = weighted.then_some(&weights[..]);
                    let (adjacency, _) =
                        Adjacency::from_edges(nodes, &pairs, weights, directed).unwrap();
                    let features = if sparse {
                        let offsets: Vec<usize> = (0..=nodes).map(|v| v * columns).collect();
                        let indices: Vec<u32> =
                            (0..nodes * columns).map(|at| (at % columns) as u32).collect();
                        Features::Sparse(
                            SparseRows::new(columns, &offsets, &indices, &values).unwrap(),
                        )
                    } else {
                        Features::dense(nodes, columns, values).unwrap()
                    };
                    let classes = ["a", "ß", ""].map(str::to_owned).to_vec();
                    let mut graph = Graph::new(
                        name,
                        adjacency,
                        features,
                        Labels::new(labels, classes).unwrap(),
                    )
                    .unwrap();
                    if split {
                        let roles = roles.iter().map(|r| ROLES[*r]).collect();
                        graph = graph.with_split(Split::new(roles)).unwrap();
                    }
                    if named {
                        let columns = vec![
                            GroupColumn::from_texts("any", &ids),
                            GroupColumn::from_texts("ö", &ids),
                        ];
                        let ids =
                            ids.iter().enumerate().map(|(v, id)| format!("{id}{v}")).collect();
                        graph = graph.with_group_columns(columns).unwrap().with_ids(ids).unwrap();
                    }
                    graph
                },
            )
        },
    )
}

/// The pickle by Python 2 of a `defaultdict(list)` with these entries, without the memo.
pub(crate) fn pickled_graph(lists: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(".to_vec();
    for (node, neighbours) in lists {
        bytes.extend([b'K', *node, b']', b'(']);
        bytes.extend(neighbours.iter().flat_map(|v| [b'K', *v]));
        bytes.push(b'e');
    }
    bytes.extend(b"u.");
    bytes
}

/// The pickle by Python 2 of a scipy CSR matrix, without the memo.
pub(crate) fn pickled_csr(
    rows: u8,
    columns: u8,
    offsets: &[i32],
    indices: &[i32],
    values: &[f32],
) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut bytes = b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81}(U\x06_shape".to_vec();
    bytes.extend([b'K', rows, b'K', columns, 0x86]);
    for (name, dtype, data) in [
        ("indptr", "i4", little_endian(offsets)),
        ("indices", "i4", little_endian(indices)),
        ("data", "f4", data),
    ] {
        bytes.extend([b'U', name.len() as u8]);
        bytes.extend(name.as_bytes());
        bytes.extend(array_instructions(&[b'K', (data.len() / 4) as u8], dtype, &data));
    }
    bytes.extend(b"ub.");
    bytes
}

fn little_endian(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The pickle by Python 2 of a matrix of small integers.
pub(crate) fn pickled_matrix(rows: u8, columns: u8, values: &[i32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    pickled_array(&[b'K', rows, b'K', columns], "i4", &data)
}

/// The pickle by Python 2 of an array; `shape` is the instructions that push its sides.
pub(crate) fn pickled_array(shape: &[u8], dtype: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x80\x02".to_vec();
    bytes.extend(array_instructions(shape, dtype, data));
    bytes.push(b'.');
    bytes
}

const ROLES: [Role; 4] = [Role::Train, Role::Val, Role::Test, Role::None];

fn array_instructions(shape: &[u8], dtype: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes =
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01("
            .to_vec();
    bytes.extend(shape);
    bytes.extend(b"tcnumpy\ndtype\nU\x02");
    bytes.extend(dtype.as_bytes());
    bytes.extend(b"K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T");
    bytes.extend((data.len() as u32).to_le_bytes());
    bytes.extend(data);
    bytes.extend(b"tb");
    bytes
}
