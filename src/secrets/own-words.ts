/**
 * What the files of every session have in them, whoever uses it. A secret that is part of this cannot be kept out of
 * them, and rewriting it would break them.
 */
export const ownWords: readonly string[] = [
  '{"seq":,"at":,"group":,"epoch":,"type":"","data":,"blob":{"sha256":"","bytes":,"slot":{"ext":"","version":""',
  '},"audit":{"count":,"head":""},"spool":"","prev":"","hash":"","crc":""}',
  '{"act":"","action":"","subject":"","key":"","ok":true,"ok":false,"result":,"error":{"code":"","message":""},"detail":',
  '{"schema":,"session_id":"","store":"","created_at":"","revisions":[{"rev":,"kind":"","tool":"","title":"","workspace":""',
  ',"mode":"","secrets":[{"kind":"","name":""}],"pid":,"host":"","turns":,"from":null}],"slots":,"unsettled":,"value":',
  '":"","":[],"":{},"":[""],"":[{"":""},{"":""}],"":["",""],"":"","":{"":{"":{}}}',
  'stint.slot stint.turn intent outcome create resume annotate close fork repair import writer visitor purpose holder',
  'session sessions manifest journal snapshot snapshots revision blobs segment quarantine',
  'active closed crashed locked damaged machine process started hostname signal',
  '<secret:env:> <secret:file:/> <secret:keyring:> <masked:> <secret> <masked>',
]
