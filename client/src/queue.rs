//! Queues, and the jobs that are claimed from them.

/// A queue, and the caller's list of its jobs in flight.
///
/// In a cluster both keys must share a hash tag with each other and with the
/// keys of the [`Heartbeat`](crate::Heartbeat).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Queue {
    /// The list that jobs are pushed to.
    pub public: Vec<u8>,
    /// The list that the caller's claims move them to: its processing list.
    pub private: Vec<u8>,
}

impl Queue {
    /// A queue of these two lists.
    #[must_use]
    pub fn new(public: impl Into<Vec<u8>>, private: impl Into<Vec<u8>>) -> Self {
        Self {
            public: public.into(),
            private: private.into(),
        }
    }
}

/// A job in a private list: one that was claimed.
///
/// [`acknowledge`](crate::Wurk::acknowledge) it when it is done, or
/// [`requeue`](crate::Wurk::requeue) it.
#[must_use = "the job is in the private list: acknowledge or requeue it"]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claimed<'q> {
    /// The queue it came from.
    pub queue: &'q Queue,
    /// The job, byte for byte.
    pub job: Vec<u8>,
}

impl<'q> Claimed<'q> {
    /// A job that was found in the private list of `queue`, as a reaper finds it.
    pub fn new(queue: &'q Queue, job: impl Into<Vec<u8>>) -> Self {
        Self {
            queue,
            job: job.into(),
        }
    }
}

/// A job whose time has come, on its way from a sorted set to its queue.
///
/// In a cluster both keys must share a hash tag.
///
/// ```
/// use wurk_client::Promotion;
///
/// let promotion = Promotion::new(b"retry", b"queue:mail", b"job");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Promotion<'a> {
    /// The sorted set that the job waits in.
    pub scheduled: &'a [u8],
    /// The list that it is pushed to.
    pub public: &'a [u8],
    /// The job, a member of the set.
    pub job: &'a [u8],
    /// What is pushed in its place, if that is not the same.
    pub payload: Option<&'a [u8]>,
}

impl<'a> Promotion<'a> {
    /// A promotion that pushes the job as it is.
    #[must_use]
    pub const fn new(scheduled: &'a [u8], public: &'a [u8], job: &'a [u8]) -> Self {
        Self {
            scheduled,
            public,
            job,
            payload: None,
        }
    }

    /// Sets what is pushed in place of the job.
    #[must_use]
    pub const fn with_payload(self, payload: &'a [u8]) -> Self {
        Self {
            payload: Some(payload),
            ..self
        }
    }
}
