/** A statement as it was sent. */
export interface SentStatement {
  /** In one line. */
  text: string;
  parameters: readonly unknown[];
}

/** Remembers the statements of a database that was opened with {@linkcode onStatement}. */
export class StatementRecorder {
  #sent: SentStatement[] = [];

  /** To be given to `openDatabase`. */
  readonly onStatement = (text: string, parameters: readonly unknown[]): void => {
    this.#sent.push({ text: text.replace(/\s+/g, " ").trim(), parameters: [...parameters] });
  };

  /** What was sent since the last call. */
  take(): SentStatement[] {
    const sent = this.#sent;
    this.#sent = [];
    return sent;
  }

  /** What is sent while `body` runs. */
  async during(body: () => Promise<unknown>): Promise<SentStatement[]> {
    this.take();
    await body();
    return this.take();
  }
}
