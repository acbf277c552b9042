/// `AUDIT_FULL`: what becomes of those who would be admitted while the audit log can't be written.
package enum AuditFull: String, Sendable, CaseIterable {
    /// They are refused: nobody is admitted of whom nothing stands on disk.
    case refuse
    /// They are admitted, and how many lines are missing is written when that is possible again.
    case `continue`
}
