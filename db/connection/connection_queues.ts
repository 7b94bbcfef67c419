/**
 * postgres.js 3.4.9 keeps its connections in queues that leave an empty place behind for each
 * statement, until a queue happens to be empty. Every statement searches them: after a minute of
 * load that is half of the processor's time, and it grows as long as the process lives.
 */

/** What the library keeps its connections in. */
interface Queue {
  readonly length: number;
  push(connection: Connection): Connection;
  shift(): Connection | undefined;
  remove(connection: Connection): Connection | null;
}

interface Connection {
  /** The one that it is in: those that are free, busy, closed and so on. */
  queue: Queue;
}

/** The part of a statement by which the library hands out the connection that it is sent on. */
interface Statement {
  options?: { onexecute?: (connection: Connection) => boolean };
}

/** Finds the queues of a pool by its statements, and lets each hold what it has and nothing else. */
export class ConnectionQueues {
  readonly #mended = new WeakSet<Queue>();
  #isFollowing = false;

  /** To be called with each statement before it is sent. */
  see(statement: unknown): void {
    if (this.#isFollowing) return;
    const { options } = statement as Statement;
    // Names and lists of values, which are made by the same call, have none.
    if (!options) return;
    options.onexecute = (connection) => {
      if (!this.#isFollowing) this.#follow(connection);
      // More may be sent on it at once.
      return true;
    };
  }

  // All connections share the queues: one of them passes through every one that is used much.
  #follow(connection: Connection): void {
    this.#isFollowing = true;
    let { queue } = connection;
    this.#mend(queue);
    Object.defineProperty(connection, "queue", {
      get: () => queue,
      set: (next: Queue) => {
        queue = next;
        this.#mend(next);
      },
    });
  }

  #mend(queue: Queue): void {
    if (this.#mended.has(queue)) return;
    this.#mended.add(queue);
    const connections: Connection[] = [];
    while (queue.length > 0) connections.push(queue.shift()!);
    Object.defineProperties(queue, {
      length: { get: () => connections.length },
      push: {
        value(connection: Connection) {
          connections.push(connection);
          return connection;
        },
      },
      shift: { value: () => connections.shift() },
      remove: {
        value(connection: Connection) {
          const at = connections.indexOf(connection);
          return at === -1 ? null : connections.splice(at, 1)[0];
        },
      },
    });
  }
}
