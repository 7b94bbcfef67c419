/** Changes of an organization that may run at the same time. */
const MAX_CHANGES = 4;

/** The running changes: one after another waits for the lock of its repository. */
export class RunningChanges {
  readonly #running = new Map<number, number>();

  /** Counts a change as running until its `end`; `null` when too many are. */
  begin(organizationId: number): { end(): void } | null {
    const count = this.#running.get(organizationId) ?? 0;
    if (count >= MAX_CHANGES) return null;
    this.#running.set(organizationId, count + 1);
    return {
      end: () => {
        const left = this.#running.get(organizationId)! - 1;
        if (left === 0) this.#running.delete(organizationId);
        else this.#running.set(organizationId, left);
      },
    };
  }
}

/** What is said when too many are running. */
export const TOO_MANY_CHANGES =
  `${MAX_CHANGES} changes of this organization are running: repeat this one later`;
