// Tests: tests/lib/intake/pack_upload_test.ts
/** The notes of an upload, which its submission keeps. */
import { oneLine } from "../base/text.ts";

// A broken reporter repeats its mistake for every file.
const MAX_NOTES = 50;
const MAX_CHARACTERS = 500;

/** Collects the notes on an upload while it is read. */
export class UploadNotes {
  readonly #notes: string[] = [];
  #count = 0;

  /** @param name of the archive, which its notes leave out, as its folders of reports and coverage */
  constructor(private readonly name = "") {}

  /** The same listener, whose notes are collected, too. */
  of<Listener extends { note(text: string): void }>(listener: Listener): Listener {
    return {
      ...listener,
      note: (text) => {
        this.add(text);
        listener.note(text);
      },
    };
  }

  add(text: string): void {
    this.#count++;
    if (this.#notes.length === MAX_NOTES) return;
    const line = oneLine(this.#withoutName(text)).toWellFormed();
    const isLong = line.length > MAX_CHARACTERS;
    this.#notes.push(isLong ? `${line.slice(0, MAX_CHARACTERS).toWellFormed()}...` : line);
  }

  #withoutName(text: string): string {
    const start = `${this.name}: `;
    if (this.name === "" || !text.startsWith(start)) return text;
    return text.slice(start.length).replace(/^(test[-_]results|coverage)\//, "");
  }

  /** In order; beyond 50, the last one is how many are left out. */
  get list(): string[] {
    const more = this.#count - this.#notes.length;
    return more === 0 ? [...this.#notes] : [...this.#notes, `further notes: ${more}`];
  }
}
