//! The inner loops, and the only `unsafe` code of the workspace.
//!
//! Every kernel is written once, in plain Rust, and compiled three times by [`dispatch!`]: for any
//! CPU, for AVX2+FMA and for AVX-512. The best one the CPU has is chosen at run time. All three
//! give the same digits, because each output number is computed by the same sequence of fused
//! multiply-adds: vectorising runs columns side by side and never re-orders a sum. (Dense products
//! are the exception: the `gemm` crate picks its own blocking for each CPU, see [`gemm`]; on demand
//! they are ordered, too.)
//!
//! `unsafe` appears for three reasons only: calling a function compiled for a CPU feature after
//! checking that the CPU has it, calling the pointer interface of `gemm` after checking the shapes,
//! and a prefetch hint, which cannot fault.

#![expect(unsafe_code, reason = "the one kernel module; every block has a SAFETY comment")]

pub(crate) mod attention;
pub(crate) mod contrast;
pub(crate) mod differences;
pub(crate) mod diversity;
pub(crate) mod elementwise;
pub(crate) mod gemm;
pub(crate) mod largest;
pub(crate) mod messages;
pub(crate) mod mixture;
mod ordered;
pub(crate) mod reduce;
pub(crate) mod segments;
pub(crate) mod softmax;
pub(crate) mod sparse_activations;
pub(crate) mod spmm;
pub(crate) mod tanh;

use std::sync::atomic::{AtomicU8, Ordering};

/// Which compilation of the kernels runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Plain code for any CPU. On x86 without FMA this is slow: it exists for reference and for old
    /// machines.
    Portable = 1,
    /// AVX2 and FMA: x86 since about 2013.
    Avx2 = 2,
    /// AVX-512.
    Avx512 = 3,
}

/// The level in use; 0 until it is detected on first use.
static CURRENT: AtomicU8 = AtomicU8::new(0);

impl Level {
    /// The level kernels run at now.
    #[inline]
    pub fn current() -> Self {
        match CURRENT.load(Ordering::Relaxed) {
            1 => Self::Portable,
            2 => Self::Avx2,
            3 => Self::Avx512,
            _ => Self::best().install(),
        }
    }

    /// The levels this CPU can run, slowest first.
    pub fn available() -> Vec<Self> {
        [Self::Portable, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|level| *level <= Self::best())
            .collect()
    }

    /// The best level this CPU can run.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if avx2 && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                return Self::Avx512;
            }
            if avx2 {
                return Self::Avx2;
            }
        }
        Self::Portable
    }

    /// Makes all kernels of the process run at this level, or at the best available one if the CPU
    /// lacks it.
    pub fn install(self) -> Self {
        let level = self.min(Self::best());
        CURRENT.store(level as u8, Ordering::Relaxed);
        level
    }
}

/// Compiles one function body for every [`Level`] and calls the current one.
///
/// `body` is `#[inline(always)]` into a wrapper with `#[target_feature]`: the same source is then
/// vectorised for each instruction set, without intrinsics.
macro_rules! dispatch {
    ($(#[$doc:meta])* fn $name:ident$(<T: Real $(, const $n:ident: usize)*>)?($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        #[inline]
        pub(crate) fn $name$(<T: Real $(, const $n: usize)*>)?($($arg: $ty),*) {
            #[inline(always)]
            fn body$(<T: Real $(, const $n: usize)*>)?($($arg: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2$(<T: Real $(, const $n: usize)*>)?($($arg: $ty),*) {
                body$(::<T $(, $n)*>)?($($arg),*);
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
            fn avx512$(<T: Real $(, const $n: usize)*>)?($($arg: $ty),*) {
                body$(::<T $(, $n)*>)?($($arg),*);
            }

            match crate::kernels::Level::current() {
                // SAFETY: `Level::install` never stores a level above what the CPU was detected to
                // have.
                #[cfg(target_arch = "x86_64")]
                crate::kernels::Level::Avx512 => unsafe { avx512$(::<T $(, $n)*>)?($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                crate::kernels::Level::Avx2 => unsafe { avx2$(::<T $(, $n)*>)?($($arg),*) },
                _ => body$(::<T $(, $n)*>)?($($arg),*),
            }
        }
    };
}
pub(crate) use dispatch;

/// Calls a kernel with its [block width](spmm::block_width) as a constant, so that the accumulators
/// of a row are an array whose length is a constant.
macro_rules! with_block_width {
    ($width:expr, $kernel:ident::<$t:ty>($($arg:expr),* $(,)?)) => {
        match $width {
            256 => $kernel::<$t, 256>($($arg),*),
            128 => $kernel::<$t, 128>($($arg),*),
            64 => $kernel::<$t, 64>($($arg),*),
            48 => $kernel::<$t, 48>($($arg),*),
            32 => $kernel::<$t, 32>($($arg),*),
            16 => $kernel::<$t, 16>($($arg),*),
            8 => $kernel::<$t, 8>($($arg),*),
            _ => unreachable!("strides are multiples of 8"),
        }
    };
}
pub(crate) use with_block_width;

/// Prefetches `data[at..]` into the cache. `at` may lie outside: a prefetch never faults.
#[inline(always)]
pub(crate) fn prefetch<T>(data: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = data.as_ptr().wrapping_add(at).cast::<i8>();
        // SAFETY: the instruction is a hint and does not access memory architecturally; the pointer
        // is only computed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (data, at);
}

/// Turns logits into probabilities in place.
pub fn softmax_rows<T: crate::Real>(logits: &mut crate::Matrix<T>) {
    // An exponential costs about eight multiply-adds.
    let (stride, classes, work) = (logits.stride(), logits.columns(), logits.data().len() * 8);
    crate::parallel::over_rows(logits.data_mut(), stride, work, |_, rows| {
        softmax::softmax(rows, stride, classes);
    });
}
