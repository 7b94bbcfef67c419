/** A statement that was sent. */
export interface SentStatement {
  /** In one line. */
  text: string;
  parameters: readonly unknown[];
}

/** Records the statements of a database that was opened with {@linkcode onStatement}. */
export class StatementRecorder {
  #sent: SentStatement[] = [];

  /** Option of `openDatabase`. */
  readonly onStatement = (text: string, parameters: readonly unknown[]): void => {
    this.#sent.push({ text: text.replace(/\s+/g, " ").trim(), parameters: [...parameters] });
  };

  /** Returns the statements since the last call. */
  take(): SentStatement[] {
    const sent = this.#sent;
    this.#sent = [];
    return sent;
  }

  /** Returns the statements that `body` sends. */
  async during(body: () => Promise<unknown>): Promise<SentStatement[]> {
    this.take();
    await body();
    return this.take();
  }
}
