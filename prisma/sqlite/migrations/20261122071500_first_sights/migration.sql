-- AlterTable
ALTER TABLE "changes" ADD COLUMN "item_values" JSONB;

-- An item that has appeared or returned gets the values that it was seen with. First, its present values.
UPDATE "changes" SET "item_values" = (
  SELECT json_object(
    'display_name', items.display_name,
    'channel_type', items.channel_type,
    'email', items.email,
    'inbox_type', items.inbox_type,
    'is_authorised', CASE WHEN items.is_authorised THEN 'true' WHEN NOT items.is_authorised THEN 'false' END,
    'source_user_id', items.source_user_id,
    'source_user_email', items.source_user_email,
    'created_at', replace(items.created_at, '+00:00', 'Z'),
    'updated_at', replace(items.updated_at, '+00:00', 'Z'))
  FROM "inboxes" AS items WHERE items.id = changes.item_id)
WHERE "list" = 'inboxes' AND "field" = 'presence' AND "new_value" = 'present';

UPDATE "changes" SET "item_values" = (
  SELECT json_object(
    'first_name', items.first_name,
    'last_name', items.last_name,
    'email', items.email,
    'phone_number', items.phone_number,
    'is_joined', CASE WHEN items.is_joined THEN 'true' WHEN NOT items.is_joined THEN 'false' END)
  FROM "inbox_users" AS items WHERE items.inbox_id = changes.inbox_id AND items.id = changes.item_id)
WHERE "list" = 'users' AND "field" = 'presence' AND "new_value" = 'present';

UPDATE "changes" SET "item_values" = (
  SELECT json_object(
    'name', items.name,
    'color_code', items.color_code,
    'type', items.type,
    'created_at', replace(items.created_at, '+00:00', 'Z'))
  FROM "inbox_tags" AS items WHERE items.inbox_id = changes.inbox_id AND items.id = changes.item_id)
WHERE "list" = 'tags' AND "field" = 'presence' AND "new_value" = 'present';

UPDATE "changes" SET "item_values" = (
  SELECT json_object(
    'status', items.status,
    'assignee_type', items.assignee_type,
    'assignee_id', items.assignee_id,
    'thread_id', items.thread_id,
    'thread_started_at', replace(items.thread_started_at, '+00:00', 'Z'),
    'permalink', items.permalink)
  FROM "conversations" AS items WHERE items.inbox_id = changes.inbox_id AND items.id = changes.item_id)
WHERE "list" = 'conversations' AND "field" = 'presence' AND "new_value" = 'present';

-- Then, for each value that differs since, the old value of the first later change. The changes of the same
-- page are part of the sighting.
UPDATE "changes" SET "item_values" = (
  SELECT json_group_object(first.key, CASE WHEN first.change_id IS NULL THEN first.value
    ELSE (SELECT old_value FROM "changes" AS later WHERE later.id = first.change_id) END)
  FROM (
    SELECT item.key, item.value,
      (SELECT min(next.id) FROM "changes" AS next
       WHERE next.list = changes.list AND next.inbox_id IS NULL AND next.item_id = changes.item_id
         AND next.field = item.key AND next.id > changes.id
         AND (next.observed_at <> changes.observed_at OR next.sweep_id IS DISTINCT FROM changes.sweep_id)
      ) AS change_id
    FROM json_each(changes.item_values) AS item) AS first)
WHERE "item_values" IS NOT NULL AND "list" = 'inboxes';

UPDATE "changes" SET "item_values" = (
  SELECT json_group_object(first.key, CASE WHEN first.change_id IS NULL THEN first.value
    ELSE (SELECT old_value FROM "changes" AS later WHERE later.id = first.change_id) END)
  FROM (
    SELECT item.key, item.value,
      (SELECT min(next.id) FROM "changes" AS next
       WHERE next.list = changes.list AND next.inbox_id = changes.inbox_id AND next.item_id = changes.item_id
         AND next.field = item.key AND next.id > changes.id
         AND (next.observed_at <> changes.observed_at OR next.sweep_id IS DISTINCT FROM changes.sweep_id)
      ) AS change_id
    FROM json_each(changes.item_values) AS item) AS first)
WHERE "item_values" IS NOT NULL AND "list" <> 'inboxes';

-- The tags: those that are there without a later change, and those that the first later change removes.
UPDATE "changes" SET "item_values" = json_set(item_values, '$.tags', json((
    SELECT json_group_array(value) FROM (
      SELECT links.tag_id AS value FROM "conversation_tags" AS links
      WHERE links.inbox_id = changes.inbox_id AND links.conversation_id = changes.item_id
        AND NOT EXISTS (SELECT 1 FROM "changes" AS next
          WHERE next.list = 'conversations' AND next.inbox_id = changes.inbox_id
            AND next.item_id = changes.item_id AND next.field = 'tags' AND next.id > changes.id
            AND (next.observed_at <> changes.observed_at OR next.sweep_id IS DISTINCT FROM changes.sweep_id)
            AND links.tag_id IN (next.old_value, next.new_value))
      UNION ALL
      SELECT lost.old_value FROM "changes" AS lost
      WHERE lost.list = 'conversations' AND lost.inbox_id = changes.inbox_id
        AND lost.item_id = changes.item_id AND lost.field = 'tags' AND lost.id > changes.id
        AND (lost.observed_at <> changes.observed_at OR lost.sweep_id IS DISTINCT FROM changes.sweep_id)
        AND lost.new_value IS NULL
        AND NOT EXISTS (SELECT 1 FROM "changes" AS next
          WHERE next.list = 'conversations' AND next.inbox_id = changes.inbox_id
            AND next.item_id = changes.item_id AND next.field = 'tags'
            AND next.id > changes.id AND next.id < lost.id
            AND (next.observed_at <> changes.observed_at OR next.sweep_id IS DISTINCT FROM changes.sweep_id)
            AND lost.old_value IN (next.old_value, next.new_value))
      ORDER BY value))))
WHERE "item_values" IS NOT NULL AND "list" = 'conversations';
