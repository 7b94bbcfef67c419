/**
 * Workaround for postgres.js 3.4.9, and the one place that touches its private parts. Its queues of
 * connections keep an empty slot for each statement until the queue happens to be empty, and every
 * statement searches them: half of the CPU time after a minute of load, and growing. The test of
 * this file fails when postgres.js no longer needs it.
 */

/** A queue of connections in postgres.js. */
interface Queue {
  readonly length: number;
  push(connection: Connection): Connection;
  shift(): Connection | undefined;
  remove(connection: Connection): Connection | null;
}

interface Connection {
  /** The queue that holds it: open, busy, closed and so on. */
  queue: Queue;
}

/** A statement with the hook that receives the connection it is sent on. */
interface Statement {
  options?: { onexecute?: (connection: Connection) => boolean };
}

/** Finds the queues of a client through its statements, and makes them compact. */
export class ConnectionQueues {
  readonly #compacted = new WeakSet<Queue>();
  #isInstalled = false;

  /** Call with each statement before it is sent; `onSent` is called once it has a connection. */
  observe(statement: unknown, onSent?: () => void): void {
    if (this.#isInstalled && !onSent) return;
    const { options } = statement as Statement;
    // Identifiers and value lists come from the same call and have no options.
    if (!options) return;
    options.onexecute = (connection) => {
      onSent?.();
      if (!this.#isInstalled) this.#install(connection);
      // The connection may take more statements at once.
      return true;
    };
  }

  // All connections share the queues, and one of them passes through every queue that is in use.
  #install(connection: Connection): void {
    this.#isInstalled = true;
    let { queue } = connection;
    this.#compact(queue);
    Object.defineProperty(connection, "queue", {
      get: () => queue,
      set: (next: Queue) => {
        queue = next;
        this.#compact(next);
      },
    });
  }

  #compact(queue: Queue): void {
    if (this.#compacted.has(queue)) return;
    this.#compacted.add(queue);
    const connections: Connection[] = [];
    while (queue.length > 0) connections.push(queue.shift()!);
    Object.defineProperty(queue, "length", { get: () => connections.length });
    Object.assign(queue, {
      push(connection: Connection) {
        connections.push(connection);
        return connection;
      },
      shift: () => connections.shift(),
      remove(connection: Connection) {
        const index = connections.indexOf(connection);
        return index === -1 ? null : connections.splice(index, 1)[0];
      },
    });
  }
}
