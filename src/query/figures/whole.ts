/** SQL for a person: each answer has all rows of a list of which the pages show the first. */

export const ALL_PEOPLE = `SELECT assignee_id, max(assignee) AS assignee, count(*) AS inboxes,
  sum(open) AS open, sum(pending) AS pending
FROM assignee_workload GROUP BY assignee_id
ORDER BY sum(open) + sum(pending) DESC, max(assignee), assignee_id`;

/** @param inboxId null: of all inboxes */
export function allTags(inboxId: string | null): string {
  return `SELECT tag_id, tag, tag_volume.inbox_id, display_name AS inbox, not_closed, conversations
FROM tag_volume JOIN inboxes ON inboxes.id = tag_volume.inbox_id
WHERE conversations > 0${inboxId === null ? '' : ` AND inbox_id = ${literal(inboxId)}`}
ORDER BY not_closed DESC, conversations DESC, inbox_id, tag_id`;
}

/** @param inboxId null: of all inboxes */
export function allUnassigned(inboxId: string | null): string {
  return `SELECT since, is_lower_bound, inbox_id, display_name AS inbox, status, conversation_id, permalink
FROM unassigned_age JOIN inboxes ON inboxes.id = inbox_id${
    inboxId === null ? '' : `\nWHERE inbox_id = ${literal(inboxId)}`
  }
ORDER BY since, conversation_id`;
}

export function allNotClosed(inboxId: string): string {
  return `SELECT conversation_id, status, assignee_id, assignee, unchanged_since, permalink
FROM oldest_open WHERE inbox_id = ${literal(inboxId)}
ORDER BY unchanged_since DESC, conversation_id`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
