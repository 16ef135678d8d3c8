//! The threads that run scripts: one for each core, and a watch thread that replaces those that are held too long.

use super::RunCounts;
use super::ready_queue::ReadyQueue;
use super::runner_pool::RunnerPool;
use crate::bare::{Fiber, FiberStep};
use crate::clock::ThreadClock;
use crate::error::HostError;
use crate::task::{
    FiberRunner, HostFuture, PauseReason, RunTask, Scheduler, TaskMessage, TaskRequest, TaskStart,
};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// How long one run may hold a thread before another thread is lent to the others.
const HELD: Duration = Duration::from_millis(30);
/// How often the watch thread looks while something runs.
const LOOK: Duration = Duration::from_millis(10);
/// How many threads may be lent at once.
const MAX_SPARE_THREADS: usize = 4;

/// The threads and what waits for them.
pub struct ThreadPool {
    queue: Mutex<TaskQueue>,
    work: Condvar,
    /// Woken when something begins to run.
    watch: Condvar,
    warm: Arc<RunnerPool>,
    waiting: AtomicUsize,
}

#[derive(Default)]
struct TaskQueue {
    ready: ReadyQueue<Arc<RunTask>>,
    running: Vec<Arc<TimeSlice>>,
    idle: usize,
    lent: usize,
    /// The watch thread sleeps until something runs.
    unwatched: bool,
    closed: bool,
}

struct TimeSlice {
    task: Arc<RunTask>,
    since: Instant,
    /// The thread's.
    clock: ThreadClock,
    /// The thread was replaced and ends with this slice.
    replaced: AtomicBool,
}

impl ThreadPool {
    /// Starts `threads` threads and the watch thread.
    pub fn start(threads: usize, warm: Arc<RunnerPool>) -> std::io::Result<Arc<Self>> {
        let pool = Arc::new(Self {
            queue: Mutex::default(),
            work: Condvar::new(),
            watch: Condvar::new(),
            warm,
            waiting: AtomicUsize::new(0),
        });
        for _ in 0..threads.max(1) {
            pool.start_spare_thread()?;
        }
        let watched = Arc::clone(&pool);
        thread("script-watch", move || watched.watch())?;
        Ok(pool)
    }

    /// How many runs have a thread and how many wait for one.
    pub fn counts(&self) -> RunCounts {
        let queue = self.queue.lock();
        RunCounts {
            running: queue.running.len(),
            waiting: queue.ready.len(),
        }
    }

    /// Lets the threads end once nothing is left to run.
    pub fn close(&self) {
        self.queue.lock().closed = true;
        self.work.notify_all();
        self.watch.notify_all();
    }

    fn start_spare_thread(self: &Arc<Self>) -> std::io::Result<()> {
        let pool = Arc::clone(self);
        thread("script", move || pool.work())
    }

    fn work(self: Arc<Self>) {
        let clock = ThreadClock::own();
        while let Some(slice) = self.next(&clock) {
            self.run(&slice.task);
            if self.done(&slice) {
                return;
            }
        }
    }

    /// The next run, once there is one; while there is none, runtimes are made ready, and freed that nobody has used for a while.
    fn next(&self, clock: &ThreadClock) -> Option<Arc<TimeSlice>> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(task) = queue.ready.pop() {
                self.waiting.store(queue.ready.len(), Ordering::Relaxed);
                let slice = Arc::new(TimeSlice {
                    task,
                    since: Instant::now(),
                    clock: clock.clone(),
                    replaced: AtomicBool::new(false),
                });
                queue.running.push(Arc::clone(&slice));
                if std::mem::take(&mut queue.unwatched) {
                    self.watch.notify_all();
                }
                return Some(slice);
            }
            if queue.closed {
                return None;
            }
            if self.warm.wants_more() {
                drop(queue);
                self.warm.make();
                queue = self.queue.lock();
                continue;
            }
            let now = Instant::now();
            let unused = self.warm.next_unused();
            if unused.is_some_and(|unused| unused <= now) {
                MutexGuard::unlocked(&mut queue, || self.warm.free_unused(now));
                continue;
            }
            queue.idle += 1;
            match unused {
                Some(unused) => {
                    self.work.wait_until(&mut queue, unused);
                }
                None => self.work.wait(&mut queue),
            }
            queue.idle -= 1;
        }
    }

    /// Notes that a slice has ended; true if its thread was replaced meanwhile.
    fn done(&self, slice: &Arc<TimeSlice>) -> bool {
        let mut queue = self.queue.lock();
        queue.running.retain(|other| !Arc::ptr_eq(other, slice));
        let replaced = slice.replaced.load(Ordering::Relaxed);
        if replaced {
            queue.lent -= 1;
        }
        replaced
    }

    fn add(&self, add: impl FnOnce(&mut ReadyQueue<Arc<RunTask>>)) {
        let mut queue = self.queue.lock();
        add(&mut queue.ready);
        self.waiting.store(queue.ready.len(), Ordering::Relaxed);
        drop(queue);
        self.work.notify_one();
    }

    /// Runs one task until it has nothing to do.
    fn run(&self, task: &Arc<RunTask>) {
        let Some(mut runner) = self.begin(task) else {
            return;
        };
        loop {
            match resume(&mut runner.fiber) {
                Some(FiberStep::Paused(PauseReason::FirstCall(number, future))) => {
                    if let Some(future) = ask(task, number, future, &task.waker(number)) {
                        task.keep_call(number, future);
                    }
                }
                Some(FiberStep::Paused(PauseReason::Call(number, future))) => {
                    if let Some(future) = ask(task, number, future, Waker::noop()) {
                        let _runtime = task.runtime.enter();
                        // If nobody waits any more, the run has been stopped and will not wait for this answer.
                        let _ = task.requests.send(TaskRequest::Call(number, future));
                    }
                }
                Some(FiberStep::Paused(PauseReason::Yield)) => return task.requeue(runner, self),
                Some(FiberStep::Paused(PauseReason::Wait)) => match task.park(runner) {
                    Some(woken) => runner = woken,
                    None => return,
                },
                Some(FiberStep::Paused(PauseReason::Warm)) => {
                    task.end();
                    return self.warm.take_back(runner);
                }
                Some(FiberStep::Finished) => {
                    task.end();
                    return self.warm.take_stack(runner.fiber);
                }
                None => {
                    task.end();
                    let text = "a host function or the engine panicked".to_owned();
                    return task.answer(Err(crate::error::Error::Internal(text)));
                }
            }
        }
    }

    /// Takes a task onto this thread, with a runner if it is its first time.
    fn begin(&self, task: &RunTask) -> Option<FiberRunner> {
        let job = match task.begin()? {
            TaskStart::Again(runner) => return Some(runner),
            TaskStart::First(job) => job,
        };
        match self.warm.take() {
            Ok(runner) => {
                *runner.slot.lock() = Some(*job);
                Some(runner)
            }
            Err(error) => {
                task.end();
                task.answer(Err(error));
                None
            }
        }
    }

    /// Lends threads for those that are held, and answers for runs that cannot be ended.
    fn watch(self: Arc<Self>) {
        let mut queue = self.queue.lock();
        loop {
            if queue.closed {
                return;
            }
            if queue.running.is_empty() {
                queue.unwatched = true;
                self.watch.wait(&mut queue);
                continue;
            }
            self.watch.wait_for(&mut queue, LOOK);
            for slice in queue.running.clone() {
                let budget = &slice.task.budget;
                let is_overdue = budget.stop_overdue(&slice.clock);
                let words = &slice.task.words;
                if budget.stopped().is_some() {
                    words.end_stack();
                }
                words.ask_soon();
                if is_overdue {
                    // Whoever waited may be gone already.
                    let _ = slice.task.requests.send(TaskRequest::Stuck);
                }
                let held = slice.since.elapsed() > HELD && !slice.replaced.load(Ordering::Relaxed);
                let needed =
                    !queue.ready.is_empty() && queue.idle == 0 && queue.lent < MAX_SPARE_THREADS;
                if held && needed && self.start_spare_thread().is_ok() {
                    slice.replaced.store(true, Ordering::Relaxed);
                    queue.lent += 1;
                }
            }
        }
    }
}

impl Scheduler for ThreadPool {
    fn submit(&self, task: Arc<RunTask>) {
        self.add(|ready| ready.push(task));
    }

    fn submit_woken(&self, task: Arc<RunTask>) {
        self.add(|ready| ready.push_woken(task));
    }

    fn is_crowded(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

/// Resumes a fiber; `None` if it panicked.
fn resume(fiber: &mut Fiber<PauseReason>) -> Option<FiberStep<PauseReason>> {
    catch_unwind(AssertUnwindSafe(|| fiber.resume())).ok()
}

/// Asks a host call, here on the thread's own stack: many are answered at once and need no other thread, and many of the others
/// when they are asked again. Returns a call that is not answered.
fn ask(
    task: &Arc<RunTask>,
    number: u64,
    mut future: HostFuture,
    waker: &Waker,
) -> Option<HostFuture> {
    let _runtime = task.runtime.enter();
    let mut context = Context::from_waker(waker);
    let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
    match polled {
        Ok(Poll::Ready(reply)) => task.post(TaskMessage::Reply(number, reply)),
        Ok(Poll::Pending) => return Some(future),
        Err(_) => task.post(TaskMessage::Reply(number, Err(HostError::panicked()))),
    }
    None
}

fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)?;
    Ok(())
}
