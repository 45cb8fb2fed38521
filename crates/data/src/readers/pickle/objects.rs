//! The fixed list of objects a pickle may contain, and the numbers inside them.

use std::path::PathBuf;

use boostfgl_graph::{Error, Result};

use super::super::dtype::{DType, Element};
use super::super::parts::Csr;
use super::{Step, Value};

/// The names a pickle may refer to. A file cannot add one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    /// numpy's function that makes an empty array, whose state follows.
    Reconstruct,
    /// The argument of that function.
    NdArray,
    /// numpy's number type.
    DType,
    /// scipy's matrix in compressed rows.
    CsrMatrix,
    /// A dictionary with a default.
    DefaultDict,
    /// The usual default.
    List,
    /// The function with which protocol 0 makes an empty object.
    Reconstructor,
    /// The second argument of that function.
    BaseObject,
}

impl Global {
    pub(super) fn named(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => {
                Self::Reconstruct
            }
            ("numpy", "ndarray") => Self::NdArray,
            ("numpy", "dtype") => Self::DType,
            ("scipy.sparse.csr" | "scipy.sparse._csr", "csr_matrix") => Self::CsrMatrix,
            ("collections", "defaultdict") => Self::DefaultDict,
            ("__builtin__" | "builtins", "list") => Self::List,
            ("__builtin__" | "builtins", "object") => Self::BaseObject,
            ("copy_reg" | "copyreg", "_reconstructor") => Self::Reconstructor,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Reconstruct => "_reconstruct",
            Self::NdArray => "ndarray",
            Self::DType => "dtype",
            Self::CsrMatrix => "csr_matrix",
            Self::DefaultDict => "defaultdict",
            Self::List => "list",
            Self::Reconstructor => "_reconstructor",
            Self::BaseObject => "object",
        }
    }
}

/// Every value that is more than one number.
#[derive(Debug)]
pub(super) enum Object {
    Bytes(Vec<u8>),
    Tuple(Vec<Value>),
    List(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    Global(Global),
    DType(DType),
    /// The type of arrays of Python objects.
    AnyType,
    /// An array of Python objects: the position of the list that has them.
    Items(usize),
    /// An array; `None` until its contents arrive.
    Array(Option<ArrayState>),
    /// A CSR matrix and, once it arrives, the dictionary of its attributes.
    Csr(Option<Value>),
}

/// The contents of an array.
#[derive(Debug)]
pub(super) struct ArrayState {
    shape: Vec<usize>,
    dtype: DType,
    column_major: bool,
    /// Position of the object that holds the bytes.
    data: usize,
}

impl Object {
    /// Its name in an error.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "a string",
            Self::Tuple(_) => "a tuple",
            Self::List(_) => "a list",
            Self::Dict(_) => "a dictionary",
            Self::Global(global) => global.name(),
            Self::DType(_) => "a number type",
            Self::AnyType => "a type of objects",
            Self::Items(_) => "an array of objects",
            Self::Array(_) => "an array",
            Self::Csr(_) => "a matrix",
        }
    }
}

/// The result of calling `callee` with a tuple of arguments, for the few calls that plain data
/// need.
pub(super) fn call(objects: &[Object], callee: Value, arguments: Value) -> Step<Object> {
    let (Some(Object::Global(global)), Some(Object::Tuple(arguments))) =
        (get(objects, callee), get(objects, arguments))
    else {
        return Err("a call of something that is not a function".into());
    };
    let names: Vec<Option<Global>> =
        arguments.iter().take(2).map(|value| global_of(objects, *value)).collect();
    match (global, arguments.len()) {
        (Global::Reconstruct, 3) if names[0] == Some(Global::NdArray) => Ok(Object::Array(None)),
        (Global::DType, 1..=3) => {
            let name = bytes(objects, arguments[0]).and_then(|name| std::str::from_utf8(name).ok());
            if matches!(name, Some("O" | "O4" | "O8")) {
                return Ok(Object::AnyType);
            }
            let dtype = name
                .and_then(DType::parse)
                .ok_or("a number type that is not bool, integer or float")?;
            Ok(Object::DType(dtype))
        }
        (Global::DefaultDict, 0) => Ok(Object::Dict(Vec::new())),
        (Global::DefaultDict, 1) if names[0] == Some(Global::List) => Ok(Object::Dict(Vec::new())),
        (Global::List, 0) => Ok(Object::List(Vec::new())),
        (Global::CsrMatrix, 0) => Ok(Object::Csr(None)),
        (Global::Reconstructor, 3)
            if names[..2] == [Some(Global::CsrMatrix), Some(Global::BaseObject)] =>
        {
            Ok(Object::Csr(None))
        }
        _ => Err(format!("a call of {} with other arguments than plain data have", global.name())),
    }
}

/// Fills an object that [`call`] made with its state.
pub(super) fn build(objects: &mut [Object], target: Value, state: Value) -> Step<()> {
    let Value::Object(at) = target else {
        return Err("a state for something that has none".into());
    };
    let filled = match (&objects[at], get(objects, state)) {
        (Object::DType(dtype), Some(Object::Tuple(fields))) => {
            match fields.get(1).and_then(|f| bytes(objects, *f)) {
                Some(b"<" | b"|" | b"=") => Object::DType(dtype.ordered(false)),
                Some(b">") => Object::DType(dtype.ordered(true)),
                _ => return Err("a number type of unknown byte order".into()),
            }
        }
        (Object::AnyType, Some(Object::Tuple(_))) => Object::AnyType,
        (Object::Array(None), Some(Object::Tuple(fields))) => {
            match list_of_objects(objects, fields) {
                Some(list) => Object::Items(list),
                None => Object::Array(Some(array_state(objects, fields)?)),
            }
        }
        (Object::Csr(None), Some(Object::Dict(_))) => Object::Csr(Some(state)),
        (other, _) => return Err(format!("a state that does not belong to {}", other.kind())),
    };
    objects[at] = filled;
    Ok(())
}

/// The position of the list in the state of an array of Python objects.
fn list_of_objects(objects: &[Object], fields: &[Value]) -> Option<usize> {
    let &[_, _, dtype, _, Value::Object(list)] = fields else { return None };
    let is_any = matches!(get(objects, dtype), Some(Object::AnyType));
    (is_any && matches!(objects.get(list), Some(Object::List(_)))).then_some(list)
}

/// numpy's state: version, shape, number type, whether column-major, bytes.
fn array_state(objects: &[Object], fields: &[Value]) -> Step<ArrayState> {
    let &[_, shape, dtype, Value::Bool(column_major), Value::Object(data)] = fields else {
        return Err("an array with another state than numbers have".into());
    };
    let shape = match get(objects, shape) {
        Some(Object::Tuple(sides)) if sides.len() <= MAX_SIDES => {
            sides.iter().map(|side| side_length(*side)).collect()
        }
        _ => None,
    };
    let shape: Vec<usize> = shape.ok_or("an array without a shape of a few dimensions")?;
    let Some(Object::DType(dtype)) = get(objects, dtype) else {
        return Err("an array without a number type".into());
    };
    let length = bytes(objects, Value::Object(data)).ok_or("an array without bytes")?.len();
    let claimed = shape.iter().try_fold(dtype.size(), |product, &side| product.checked_mul(side));
    if claimed != Some(length) {
        return Err(format!("an array of shape {shape:?} with {length} bytes"));
    }
    if length == 0 && shape.iter().any(|side| *side > MAX_EMPTY_SIDE) {
        return Err(format!("an empty array of shape {shape:?}"));
    }
    Ok(ArrayState { shape, dtype: *dtype, column_major, data })
}

fn side_length(side: Value) -> Option<usize> {
    if let Value::Int(side) = side { usize::try_from(side).ok() } else { None }
}

fn get(objects: &[Object], value: Value) -> Option<&Object> {
    if let Value::Object(at) = value { objects.get(at) } else { None }
}

fn global_of(objects: &[Object], value: Value) -> Option<Global> {
    if let Some(Object::Global(global)) = get(objects, value) { Some(*global) } else { None }
}

fn bytes(objects: &[Object], value: Value) -> Option<&[u8]> {
    if let Some(Object::Bytes(bytes)) = get(objects, value) { Some(bytes) } else { None }
}

/// Most dimensions of an array. Shapes can be shared between arrays, so a long one could be copied
/// many times.
const MAX_SIDES: usize = 8;

/// Longest side of an empty array. Its sides cannot be compared with a number of bytes, and readers
/// allocate by them.
const MAX_EMPTY_SIDE: usize = 1 << 24;

/// The parsed content of a pickle.
#[derive(Debug)]
pub(in super::super) struct Pickle {
    pub(super) path: PathBuf,
    /// Where in the file it is, as it is printed after the path.
    pub(super) place: String,
    /// Bytes in the file.
    pub(super) length: usize,
    pub(super) objects: Vec<Object>,
    pub(super) root: Value,
}

/// A dense two-dimensional array, row by row.
#[derive(Debug, PartialEq)]
pub(in super::super) struct Matrix {
    pub(in super::super) rows: usize,
    pub(in super::super) columns: usize,
    pub(in super::super) values: Vec<f32>,
}

impl Pickle {
    /// The object in a pickled array of one object.
    ///
    /// # Errors
    /// If it is something else.
    pub(in super::super) fn only_object(mut self) -> Result<Self> {
        let items = match get(&self.objects, self.root) {
            Some(Object::Items(list)) => get(&self.objects, Value::Object(*list)),
            _ => None,
        };
        match items {
            Some(Object::List(items)) if items.len() == 1 => {
                self.root = items[0];
                Ok(self)
            }
            _ => Err(self.wrong("an array of one object", self.kind(self.root))),
        }
    }

    /// Whether it is a scipy CSR matrix.
    pub(in super::super) fn is_csr(&self) -> bool {
        matches!(get(&self.objects, self.root), Some(Object::Csr(_)))
    }

    /// The pickled one-dimensional array of integers.
    ///
    /// # Errors
    /// If it is something else.
    pub(in super::super) fn integers(&self) -> Result<Vec<i64>> {
        match self.array::<i64>(self.root, "an array of integers")? {
            ([_], values) => Ok(values),
            (shape, _) => Err(self.wrong("one dimension", format!("an array of shape {shape:?}"))),
        }
    }

    /// The pickled two-dimensional array.
    ///
    /// # Errors
    /// If it is something else.
    pub(in super::super) fn matrix(&self) -> Result<Matrix> {
        let (shape, values) = self.array::<f32>(self.root, "a matrix")?;
        let &[rows, columns] = shape else {
            return Err(self.wrong("a matrix", format!("an array of shape {shape:?}")));
        };
        Ok(Matrix { rows, columns, values })
    }

    /// The pickled scipy CSR matrix.
    ///
    /// # Errors
    /// If it is something else, or its parts do not fit together.
    pub(in super::super) fn csr(&self) -> Result<Csr> {
        let Some(Object::Csr(Some(attributes))) = get(&self.objects, self.root) else {
            return Err(self.wrong("a CSR matrix", self.kind(self.root)));
        };
        // scipy renamed the attribute; files of both kinds exist.
        let shape = self
            .attribute(*attributes, "_shape")
            .or_else(|_| self.attribute(*attributes, "shape"))?;
        let sides: Option<Vec<usize>> = match get(&self.objects, shape) {
            Some(Object::Tuple(sides)) => sides.iter().map(|side| side_length(*side)).collect(),
            _ => None,
        };
        let Some(&[rows, columns]) = sides.as_deref() else {
            return Err(self.wrong("two sides", self.kind(shape)));
        };
        let csr = Csr {
            rows,
            columns,
            offsets: self.array(self.attribute(*attributes, "indptr")?, "indptr")?.1,
            indices: self.array(self.attribute(*attributes, "indices")?, "indices")?.1,
            values: self.array(self.attribute(*attributes, "data")?, "data")?.1,
        };
        csr.check(&self.path, &self.place)?;
        Ok(csr)
    }

    /// The pickled dictionary from node to list of neighbours, in file order.
    ///
    /// # Errors
    /// If it is something else, or a node is not a number from 0 to 2^32 − 1.
    pub(in super::super) fn neighbour_lists(&self) -> Result<Vec<(u32, Vec<u32>)>> {
        let Some(Object::Dict(entries)) = get(&self.objects, self.root) else {
            return Err(self.wrong("a dictionary from nodes to lists", self.kind(self.root)));
        };
        let mut lists = Vec::new();
        let mut total = 0;
        for &(key, value) in entries {
            let neighbours = self.node_list(value)?;
            // A neighbour takes at least a byte of the file. More neighbours than bytes means that
            // lists are shared through the memo, and copying them would exhaust the memory.
            total += neighbours.len();
            if total > self.length {
                return Err(self.wrong("a list of neighbours per node", "repeated lists"));
            }
            lists.push((self.node(key)?, neighbours));
        }
        Ok(lists)
    }

    fn node(&self, value: Value) -> Result<u32> {
        match value {
            Value::Int(v) => {
                u32::try_from(v).map_err(|_| self.wrong("a node number", v.to_string()))
            }
            other => Err(self.wrong("a node number", self.kind(other))),
        }
    }

    fn node_list(&self, value: Value) -> Result<Vec<u32>> {
        match get(&self.objects, value) {
            Some(Object::List(list)) => list.iter().map(|v| self.node(*v)).collect(),
            _ => Err(self.wrong("a list of nodes", self.kind(value))),
        }
    }

    fn attribute(&self, attributes: Value, name: &str) -> Result<Value> {
        let Some(Object::Dict(entries)) = get(&self.objects, attributes) else {
            return Err(self.wrong("attributes", self.kind(attributes)));
        };
        let entry =
            entries.iter().find(|(key, _)| bytes(&self.objects, *key) == Some(name.as_bytes()));
        entry
            .map(|(_, value)| *value)
            .ok_or_else(|| self.wrong(format!("an attribute `{name}`"), "none"))
    }

    fn array<T: Element>(&self, value: Value, what: &str) -> Result<(&[usize], Vec<T>)> {
        let Some(Object::Array(Some(array))) = get(&self.objects, value) else {
            return Err(self.wrong(what, self.kind(value)));
        };
        let data = bytes(&self.objects, Value::Object(array.data)).unwrap_or_default();
        let values: Option<Vec<T>> = data
            .chunks_exact(array.dtype.size())
            .map(|bytes| T::from_number(array.dtype.decode(bytes)))
            .collect();
        let values = values
            .ok_or_else(|| self.wrong(format!("{what} made of {}", T::WANTED), "other numbers"))?;
        Ok((&array.shape, self.row_major(array, values)))
    }

    fn row_major<T: Copy>(&self, array: &ArrayState, values: Vec<T>) -> Vec<T> {
        match array.shape[..] {
            [rows, columns] if array.column_major => {
                (0..values.len()).map(|at| values[at % columns * rows + at / columns]).collect()
            }
            _ => values,
        }
    }

    fn kind(&self, value: Value) -> String {
        get(&self.objects, value)
            .map_or_else(|| format!("{value:?}"), |object| object.kind().to_owned())
    }

    fn wrong(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::malformed(&self.path, &self.place, expected, found)
    }
}
