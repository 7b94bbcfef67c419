/** Tags of single tests of a submission, in addition to its own: the owners of their files. */
import type { Codeowners } from "../report/codeowners.ts";
import type { SubmissionContent } from "./submission_content.ts";

/** Prefix of the tags that name the owners of a test's file. */
export const OWNER_TAG = "owner:";

/** The owner that a tag names; `null` for any other tag. */
export function ownerOfTag(tag: string): string | null {
  return tag.startsWith(OWNER_TAG) ? tag.slice(OWNER_TAG.length) : null;
}

/** The owners that the tags of a test name. */
export function ownersOf(tags: readonly string[]): string[] {
  return tags.flatMap((tag) => ownerOfTag(tag) ?? []);
}

/** Tags of the tests of a list. Most tests have the tags of many others. */
export interface TestTags {
  /** Distinct sets of tags. */
  groups: string[][];
  /** For each test of the list: 0 for none, otherwise 1 + the index of its group. */
  groupOf: number[];
}

/**
 * The owners of the files of a submission's tests as tags, such as `owner:@acme/web`; `null` when
 * there is none. Absolute paths of tests start with `root`, `""` when it is not known.
 */
export function ownerTags(
  content: Pick<SubmissionContent, "testHashes" | "identityAt">,
  codeowners: Codeowners,
  root = "",
): TestTags | null {
  const groupNos = new Map([["", 0]]);
  const groups: string[][] = [];
  const groupOfFile = new Map([["", 0]]);
  const groupOf = Array.from(content.testHashes, (_, index) => {
    const { file } = content.identityAt(index);
    const known = groupOfFile.get(file);
    if (known !== undefined) return known;
    const tags = codeowners.ownersOf(relativeTo(root, file)).map((owner) => `${OWNER_TAG}${owner}`)
      .sort();
    const name = tags.join(" ");
    const groupNo = groupNos.get(name) ?? groups.push(tags);
    groupNos.set(name, groupNo);
    groupOfFile.set(file, groupNo);
    return groupNo;
  });
  return groups.length === 0 ? null : { groups, groupOf };
}

function relativeTo(root: string, file: string): string {
  const [folder, path] = [root, file].map((text) => text.replaceAll("\\", "/"));
  return folder && path!.startsWith(`${folder}/`) ? path!.slice(folder.length + 1) : file;
}
