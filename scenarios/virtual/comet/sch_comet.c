// SPDX-License-Identifier: GPL-2.0-only
/*
 * sch_comet: the delay box as a queueing discipline. What becomes of a packet and when it leaves is decided by the
 * box's own code (core.h), which is compiled into this kernel. This file moves packets in and out of it, and lets a
 * process set it up through /proc/comet (kernel_calls.h).
 *
 * A discipline is one direction of a box. It is on the interface where that direction leaves the box, and what is
 * redirected there comes into the box. Every packet is copied in and out, as by the box's TAP.
 */
#include <linux/etherdevice.h>
#include <linux/file.h>
#include <linux/if_vlan.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/proc_fs.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/virtio_net.h>
#include <linux/vmalloc.h>
#include <net/gso.h>
#include <net/pkt_sched.h>

#include "core.h"
#include "kernel_calls.h"

#define BLOCK_MAX (256UL << 20)

struct comet_sched;

struct comet_box {
    refcount_t refs; /* the file's and the disciplines' */
    spinlock_t lock;
    struct comet_core *core[2]; /* NULL: not open yet, or the file is closed */
    struct comet_sched *sched[2];
    struct page **pages; /* of the record */
    unsigned long pages_n;
    void *record;
    comet_byte *spare; /* buffer for a frame for which there is no memory */
};

struct comet_sched {
    struct comet_box *box;
    unsigned int direction;
    struct Qdisc *sch;
    struct qdisc_watchdog watchdog;
};

static const char mine[] = "comet"; /* data of our file in /proc */

static void box_put(struct comet_box *box)
{
    if (!refcount_dec_and_test(&box->refs))
        return;
    kvfree(box->spare);
    kfree(box);
}

/* A frame in the box's format, virtio-net header first. For a frame that this header cannot describe, only the
 * header. */
static unsigned int copy_in(const struct sk_buff *skb, comet_byte *to)
{
    memset(to, 0, COMET_VNET_LEN);
    if (skb->len > COMET_FRAME_MAX || virtio_net_hdr_from_skb(skb, (struct virtio_net_hdr *)to, true, true, 0) ||
        skb_copy_bits(skb, 0, to + COMET_VNET_LEN, skb->len)) {
        memset(to, 0, COMET_VNET_LEN);
        return COMET_VNET_LEN;
    }
    return COMET_VNET_LEN + skb->len;
}

static void take(struct comet_box *box, struct comet_core *core, const struct sk_buff *skb, u64 now)
{
    comet_byte *to = comet_core_reserve(core);

    if (to)
        comet_core_take(core, copy_in(skb, to), now);
    else
        comet_core_refuse(core, box->spare, copy_in(skb, box->spare), now);
}

/* Whether a super-packet is of a kind that a TAP would never receive, such as one within a tunnel. */
static bool is_unknown(const struct sk_buff *skb)
{
    struct virtio_net_hdr vnet;

    return skb_is_gso(skb) &&
           (skb->len > COMET_FRAME_MAX || skb->encapsulation || virtio_net_hdr_from_skb(skb, &vnet, true, true, 0));
}

/* Takes such a super-packet as its wire packets. */
static void take_apart(struct comet_box *box, struct comet_core *core, struct sk_buff *skb, u64 now)
{
    struct sk_buff *segments = skb_gso_segment(skb, 0), *segment, *next;

    if (IS_ERR_OR_NULL(segments)) {
        take(box, core, skb, now);
        return;
    }
    skb_list_walk_safe(segments, segment, next)
    {
        skb_mark_not_on_list(segment);
        take(box, core, segment, now);
        consume_skb(segment);
    }
}

static int comet_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
    struct comet_sched *q = qdisc_priv(sch);
    struct comet_box *box = q->box;
    struct comet_core *core;

    if (skb_vlan_tag_present(skb)) {
        skb = __vlan_hwaccel_push_inside(skb);
        if (!skb)
            return NET_XMIT_SUCCESS;
    }
    spin_lock(&box->lock);
    core = box->core[q->direction];
    if (core && is_unknown(skb))
        take_apart(box, core, skb, ktime_get_ns());
    else if (core)
        take(box, core, skb, ktime_get_ns());
    spin_unlock(&box->lock);
    if (!core)
        return qdisc_drop(skb, sch, to_free);
    consume_skb(skb);
    return NET_XMIT_SUCCESS;
}

/* The frame as a packet of this kernel, or NULL. */
static struct sk_buff *copy_out(const struct comet_frame *frame, struct net_device *dev)
{
    unsigned int head = frame->head_len - COMET_VNET_LEN, len = head + frame->payload_len;
    unsigned int linear = SKB_WITH_OVERHEAD(PAGE_SIZE) - NET_SKB_PAD;
    const struct virtio_net_hdr *vnet = (const struct virtio_net_hdr *)frame->head;
    struct sk_buff *skb;
    int error;

    linear = len <= linear ? len : ETH_HLEN + 256;
    skb = alloc_skb_with_frags(NET_SKB_PAD + linear, len - linear, PAGE_ALLOC_COSTLY_ORDER, &error, GFP_ATOMIC);
    if (!skb)
        return NULL;
    skb_reserve(skb, NET_SKB_PAD);
    skb_put(skb, linear);
    skb->data_len = len - linear;
    skb->len += len - linear;
    skb->dev = dev;
    skb_reset_mac_header(skb);
    if ((head && skb_store_bits(skb, 0, frame->head + COMET_VNET_LEN, head)) ||
        skb_store_bits(skb, head, frame->payload, frame->payload_len) || len < ETH_HLEN)
        goto drop;
    skb_set_network_header(skb, ETH_HLEN);
    skb->protocol = eth_hdr(skb)->h_proto;
    if (virtio_net_hdr_to_skb(skb, vnet, true))
        goto drop;
    skb_probe_transport_header(skb);
    return skb;
drop:
    kfree_skb(skb);
    return NULL;
}

/* Returns the next packet that is due, and sets a timer for the one after it. */
static struct sk_buff *comet_dequeue(struct Qdisc *sch)
{
    struct comet_sched *q = qdisc_priv(sch);
    struct comet_box *box = q->box;
    struct sk_buff *skb = NULL;
    struct comet_frame frame;
    struct comet_core *core;
    u64 now = ktime_get_ns(), next = COMET_NEVER;

    spin_lock(&box->lock);
    core = box->core[q->direction];
    while (core && !skb && comet_core_due(core, now, &frame)) {
        skb = copy_out(&frame, qdisc_dev(sch));
        comet_core_sent(core, now, skb != NULL);
    }
    if (core && !skb)
        next = comet_core_next(core);
    spin_unlock(&box->lock);
    if (skb)
        qdisc_bstats_update(sch, skb);
    else if (next != COMET_NEVER)
        qdisc_watchdog_schedule_ns(&q->watchdog, next);
    return skb;
}

static struct comet_box *box_of(int fd)
{
    struct file *file = fget(fd);
    struct comet_box *box = NULL;

    if (!file)
        return NULL;
    if (file_inode(file)->i_sb->s_magic == PROC_SUPER_MAGIC && S_ISREG(file_inode(file)->i_mode) &&
        pde_data(file_inode(file)) == mine) {
        box = file->private_data;
        refcount_inc(&box->refs);
    }
    fput(file);
    return box;
}

static int comet_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
    struct comet_sched *q = qdisc_priv(sch);
    const struct comet_kernel_attach *attach;

    qdisc_watchdog_init(&q->watchdog, sch);
    if (!opt || nla_len(opt) < (int)sizeof(*attach))
        return -EINVAL;
    attach = nla_data(opt);
    if (attach->direction > 1)
        return -EINVAL;
    q->box = box_of(attach->file);
    if (!q->box)
        return -EBADF;
    q->sch = sch;
    q->direction = attach->direction;
    spin_lock_bh(&q->box->lock);
    q->box->sched[q->direction] = q;
    spin_unlock_bh(&q->box->lock);
    return 0;
}

static void comet_destroy(struct Qdisc *sch)
{
    struct comet_sched *q = qdisc_priv(sch);

    qdisc_watchdog_cancel(&q->watchdog);
    if (!q->box)
        return;
    spin_lock_bh(&q->box->lock);
    if (q->box->sched[q->direction] == q)
        q->box->sched[q->direction] = NULL;
    spin_unlock_bh(&q->box->lock);
    box_put(q->box);
}

static void comet_reset(struct Qdisc *sch)
{
    struct comet_sched *q = qdisc_priv(sch);

    qdisc_watchdog_cancel(&q->watchdog);
}

static struct Qdisc_ops comet_ops __read_mostly = {
    .id = COMET_KERNEL_DISCIPLINE,
    .priv_size = sizeof(struct comet_sched),
    .enqueue = comet_enqueue,
    .dequeue = comet_dequeue,
    .peek = qdisc_peek_dequeued,
    .init = comet_init,
    .reset = comet_reset,
    .destroy = comet_destroy,
    .owner = THIS_MODULE,
};

static int comet_file_open(struct inode *inode, struct file *file)
{
    struct comet_box *box = kzalloc(sizeof(*box), GFP_KERNEL);

    if (!box)
        return -ENOMEM;
    box->spare = kvmalloc(COMET_VNET_LEN + COMET_FRAME_MAX, GFP_KERNEL);
    if (!box->spare) {
        kfree(box);
        return -ENOMEM;
    }
    refcount_set(&box->refs, 1);
    spin_lock_init(&box->lock);
    file->private_data = box;
    return 0;
}

static int comet_file_release(struct inode *inode, struct file *file)
{
    struct comet_box *box = file->private_data;
    struct comet_core *core[2];
    int d;

    spin_lock_bh(&box->lock);
    memcpy(core, box->core, sizeof(core));
    memset(box->core, 0, sizeof(box->core));
    spin_unlock_bh(&box->lock);
    for (d = 0; d < 2; d++)
        if (core[d])
            comet_core_close(core[d]);
    if (box->record) {
        vunmap(box->record);
        unpin_user_pages_dirty_lock(box->pages, box->pages_n, true);
    }
    kvfree(box->pages);
    box_put(box);
    return 0;
}

/* Maps the record that the process has mapped. */
static int map_record(struct comet_box *box, const struct comet_kernel_open *open)
{
    int got;

    box->pages_n = DIV_ROUND_UP(open->record_bytes, PAGE_SIZE);
    if (!box->pages_n || offset_in_page(open->record))
        return -EINVAL;
    box->pages = kvmalloc_array(box->pages_n, sizeof(*box->pages), GFP_KERNEL);
    if (!box->pages)
        return -ENOMEM;
    got = pin_user_pages_fast(open->record, box->pages_n, FOLL_WRITE | FOLL_LONGTERM, box->pages);
    if (got != box->pages_n) {
        if (got > 0)
            unpin_user_pages(box->pages, got);
        return got < 0 ? got : -EFAULT;
    }
    box->record = vmap(box->pages, box->pages_n, VM_MAP, PAGE_KERNEL);
    if (!box->record)
        unpin_user_pages(box->pages, got);
    return box->record ? 0 : -ENOMEM;
}

static int box_open(struct comet_box *box, const struct comet_kernel_open *open)
{
    struct comet_core *core[2] = {};
    int d, error;

    if (open->view_bytes != comet_core_view_bytes())
        return -EPROTO;
    if (box->core[0])
        return -EBUSY;
    error = open->record ? map_record(box, open) : 0;
    for (d = 0; d < 2 && !error; d++) {
        core[d] = comet_core_open(d, open->seed, open->granularity_ns, open->memory_bytes);
        if (!core[d])
            error = -ENOMEM;
    }
    if (error) {
        if (core[0])
            comet_core_close(core[0]);
        return error;
    }
    for (d = 0; d < 2 && open->record; d++)
        comet_core_record(core[d], box->record + open->ring_at[d], box->record + open->slots_at[d], open->slots_n,
                          open->header_bytes);
    spin_lock_bh(&box->lock);
    memcpy(box->core, core, sizeof(core));
    spin_unlock_bh(&box->lock);
    return 0;
}

/* Waiting packets may now be due at other times. */
static void look_again(struct comet_box *box)
{
    int d;

    for (d = 0; d < 2; d++)
        if (box->sched[d])
            __netif_schedule(qdisc_root(box->sched[d]->sch));
}

static int box_set(struct comet_box *box, const struct comet_kernel_set *set)
{
    void *block[2] = {};
    int d, error = box->core[0] ? 0 : -EINVAL;

    for (d = 0; d < 2 && !error; d++) {
        if (set->len[d] > BLOCK_MAX)
            error = -E2BIG;
        else
            block[d] = vmemdup_user((void __user *)set->block[d], set->len[d]);
        if (IS_ERR(block[d])) {
            error = PTR_ERR(block[d]);
            block[d] = NULL;
        }
    }
    if (!error) {
        u64 now = set->now_ns ?: ktime_get_ns();

        spin_lock_bh(&box->lock);
        for (d = 0; d < 2; d++)
            if (!comet_core_set(box->core[d], block[d], set->len[d], now))
                error = -EPROTO;
        look_again(box);
        spin_unlock_bh(&box->lock);
    }
    kvfree(block[0]);
    kvfree(block[1]);
    return error;
}

static int box_view(struct comet_box *box, struct comet_kernel_view *view)
{
    unsigned long each = comet_core_view_bytes();
    void *views = kvmalloc_array(2, each, GFP_KERNEL);
    int d, error = 0;

    if (!views)
        return -ENOMEM;
    if (!box->core[0]) {
        kvfree(views);
        return -EINVAL;
    }
    spin_lock_bh(&box->lock);
    view->now_ns = ktime_get_ns();
    for (d = 0; d < 2; d++)
        comet_core_view(box->core[d], view->now_ns, views + d * each);
    spin_unlock_bh(&box->lock);
    if (copy_to_user((void __user *)view->to, views, 2 * each))
        error = -EFAULT;
    kvfree(views);
    return error;
}

static long comet_file_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
    struct comet_box *box = file->private_data;
    void __user *at = (void __user *)argument;
    union {
        struct comet_kernel_open open;
        struct comet_kernel_set set;
        struct comet_kernel_view view;
    } call;
    int error;

    if (_IOC_SIZE(request) > sizeof(call) || copy_from_user(&call, at, _IOC_SIZE(request)))
        return -EFAULT;
    switch (request) {
    case COMET_KERNEL_OPEN:
        return box_open(box, &call.open);
    case COMET_KERNEL_SET:
        return box_set(box, &call.set);
    case COMET_KERNEL_VIEW:
        error = box_view(box, &call.view);
        if (!error && copy_to_user(at, &call.view, sizeof(call.view)))
            error = -EFAULT;
        return error;
    }
    return -ENOTTY;
}

static const struct proc_ops comet_file = {
    .proc_open = comet_file_open,
    .proc_release = comet_file_release,
    .proc_ioctl = comet_file_ioctl,
};

static int __init comet_module_init(void)
{
    if (!proc_create_data("comet", 0600, NULL, &comet_file, (void *)mine))
        return -ENOMEM;
    return register_qdisc(&comet_ops);
}
module_init(comet_module_init) MODULE_LICENSE("GPL");
