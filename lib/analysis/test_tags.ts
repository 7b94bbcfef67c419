/**
 * Tags that single tests of a submission have, beside those of the whole submission: the owners of
 * their files.
 */
import { createHash } from "node:crypto";
import type { Codeowners } from "../report/codeowners.ts";
import type { SubmissionContent } from "./submission_content.ts";
import { VarintReader, VarintWriter } from "./varint.ts";

/** Tags of the tests of a list. Most tests have the tags of many others. */
export interface TestTags {
  /** Each a set of tags that some tests have, without repetition. */
  groups: string[][];
  /** For each place of the list: 0 for none, else 1 + the position of its tests' group. */
  groupOf: number[];
}

/**
 * The owners of the files of a submission's tests as tags, such as `owner:@acme/web`; `null` when
 * no test's file has an owner.
 *
 * @param root folder that absolute paths of tests start with, `""` when it is not known
 * @param options.isTimeLeft asked before each file: thousands of patterns against thousands of files
 * can take hours
 * @param options.onUnasked told how many files were left without owners when there was no time left
 */
export function ownerTags(
  content: Pick<SubmissionContent, "testHashes" | "identityAt">,
  codeowners: Codeowners,
  root = "",
  { isTimeLeft = () => true, onUnasked }: {
    isTimeLeft?(): boolean;
    onUnasked?(fileCount: number): void;
  } = {},
): TestTags | null {
  let unasked = 0;
  const groupNos = new Map<string, number>();
  const groups: string[][] = [];
  const groupOfFile = new Map<string, number>([["", 0]]);
  const groupOf: number[] = [];
  for (let index = 0; index < content.testHashes.length; index++) {
    const { file } = content.identityAt(index);
    let groupNo = groupOfFile.get(file);
    if (groupNo === undefined) {
      const mayAsk = unasked === 0 && isTimeLeft();
      if (!mayAsk) unasked++;
      const owners = mayAsk ? codeowners.ownersOf(relativeTo(root, file)) : [];
      const tags = owners.map((owner) => `owner:${owner}`).sort();
      const name = tags.join(" ");
      groupNo = tags.length === 0 ? 0 : groupNos.get(name) ?? groups.push(tags);
      if (groupNo > 0) groupNos.set(name, groupNo);
      groupOfFile.set(file, groupNo);
    }
    groupOf.push(groupNo);
  }
  if (unasked > 0) onUnasked?.(unasked);
  return groups.length === 0 ? null : { groups, groupOf };
}

function relativeTo(root: string, file: string): string {
  const [folder, path] = [root, file].map((text) => text.replaceAll("\\", "/"));
  return folder && path!.startsWith(`${folder}/`) ? path!.slice(folder.length + 1) : file;
}

/** Tags as they are stored, and what they are recognized by. */
export interface EncodedTestTags {
  /** JSON. */
  groups: string;
  members: Uint8Array;
  /** SHA-256 over both, hex. */
  digest: string;
}

/** Makes columns of tags. */
export function encodeTestTags({ groups, groupOf }: TestTags): EncodedTestTags {
  const json = JSON.stringify(groups);
  const writer = new VarintWriter();
  for (const groupNo of groupOf) writer.write(groupNo);
  const members = writer.finish();
  const digest = createHash("sha256").update(json).update("\0").update(members).digest("hex");
  return { groups: json, members, digest };
}

/** The positions in the list of the tests of each group, in the order of the groups. */
export function decodeTestTags(
  { groups, members }: Pick<EncodedTestTags, "groups" | "members">,
): { tags: string[]; places: number[] }[] {
  const decoded = (JSON.parse(groups) as string[][]).map((tags) => ({
    tags,
    places: [] as number[],
  }));
  const reader = new VarintReader(members);
  for (let place = 0; !reader.done; place++) decoded[reader.read() - 1]?.places.push(place);
  return decoded;
}
