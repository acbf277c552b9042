/// `AUDIT_FULL`: what happens to clients that would be admitted while the audit log can't be written.
package enum AuditFull: String, Sendable, CaseIterable {
    /// They are refused: no client is admitted without a line in the audit log.
    case refuse
    /// They are admitted. The number of missing lines is written when that is possible again.
    case `continue`
}
