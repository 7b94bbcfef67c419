/** Changes of an organization that may run at the same time: one after another waits for the lock of its repository. */
export const MAX_CHANGES = 4;

/** What is said when too many are running. */
export const TOO_MANY_CHANGES =
  `${MAX_CHANGES} changes of this organization are running: repeat this one later`;

/** Limits what runs at the same time, of each organization and in all. */
export class ConcurrencyLimit {
  readonly #running = new Map<number | null, number>();
  #total = 0;

  constructor(private readonly max: { ofOrganization: number; inAll?: number }) {}

  /**
   * Counts one as running until the returned function is called, once or more often; `null` when too many
   * are running.
   */
  begin(organizationId: number | null): (() => void) | null {
    const { ofOrganization, inAll = Infinity } = this.max;
    const count = this.#running.get(organizationId) ?? 0;
    if (count >= ofOrganization || this.#total >= inAll) return null;
    this.#running.set(organizationId, count + 1);
    this.#total++;
    let isRunning = true;
    return () => {
      if (!isRunning) return;
      isRunning = false;
      this.#total--;
      const left = this.#running.get(organizationId)! - 1;
      if (left === 0) this.#running.delete(organizationId);
      else this.#running.set(organizationId, left);
    };
  }
}
